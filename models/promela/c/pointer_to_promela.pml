// A pointer of the state to one of two variables of Promela.
//
// expect: states=21 transitions=20 verdict=holds

int a = 1, b = 2;
c_decl { int *sel; }
c_track "&sel" "sizeof(int*)"
active proctype P() { if :: c_code { sel = &now.a; } :: c_code { sel = &now.b; } fi;
  do :: c_expr { *sel < 5 } -> c_code { (*sel)++; } :: else -> break od }

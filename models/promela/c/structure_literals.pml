// Structures by value: parameters, results, literals.
//
// expect: states=98 transitions=149 verdict=holds

c_decl { typedef struct { int x; int y; } V;
V add(V a, V b) { V r; r.x = a.x + b.x; r.y = a.y + b.y; return r; }
V pos = { .x = 1, .y = 2 }; }
c_track "&pos" "sizeof(V)"
byte i;
active [2] proctype P() {
  do :: c_expr { pos.x < 4 } -> c_code { V d = { 1, -1 }; pos = add(pos, d); }
     :: c_expr { pos.y <= 0 } -> break
  od;
  c_code { pos = (V){ pos.y, pos.x }; }
}

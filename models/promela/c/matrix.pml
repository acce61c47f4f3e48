// A matrix with initial values, given to functions.
//
// expect: states=4 transitions=4 verdict=holds

c_decl { int m[3][3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
  int trace_(int a[3][3]) { int s = 0; for (int i = 0; i < 3; i++) s += a[i][i]; return s; }
  void transpose(int a[3][3]) { for (int i = 0; i < 3; i++) for (int j = 0; j < i; j++) { int t = a[i][j]; a[i][j] = a[j][i]; a[j][i] = t; } } }
c_track "m" "sizeof(m)"
int t;
active proctype P() { c_code { now.t = trace_(m); }; do :: c_code { transpose(m); now.t = m[0][1]; } od }

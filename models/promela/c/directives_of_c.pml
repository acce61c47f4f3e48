// Macros for the preprocessor of C alone.
//
// expect: states=4 transitions=3 verdict=holds

c_decl {
\#define LENGTH 4
\#define SQ(a) ((a) * (a))
  int v[LENGTH];
}
c_track "v" "sizeof(int) * 4"
int s;
active proctype P() { c_code { int i; for (i = 0; i < LENGTH; i++) { v[i] = SQ(i + 1); now.s += v[i]; } }; assert(s == 30) }

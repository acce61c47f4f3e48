// A table of functions, and a function that calls what it is given.
//
// expect: states=250 transitions=472 verdict=holds

c_decl {
  int inc(int a) { return a + 1; } int dbl(int a) { return a * 2; }
  int (*ops[2])(int) = { inc, dbl };
  int apply(int (*f)(int), int v) { return f(v); }
}
int x = 1;
active [2] proctype P() { byte i;
  do :: i < 2 -> if :: c_code { now.x = ops[0](now.x); } :: c_code { now.x = apply(dbl, now.x); } fi; i++
     :: else -> break od }

// A union inside a structure, written as a number and read as its halves.
//
// expect: states=631 transitions=1073 verdict=violated violation="invalid end state"

c_decl { typedef struct { unsigned char kind; union { int num; struct { short lo, hi; } half; } u; } Tagged; Tagged cur; }
c_track "&cur" "sizeof(Tagged)"
byte n;
active [2] proctype P() {
  do
  :: c_expr { cur.kind == 0 } && n < 5 -> c_code { cur.kind = 1; cur.u.num += 70000; now.n++; }
  :: c_expr { cur.kind == 1 } -> c_code { cur.kind = 0; cur.u.half.lo ^= 3; cur.u.half.hi++; }
  :: n == 5 -> break
  od
}

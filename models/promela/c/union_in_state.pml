// Two processes add to bytes of a union.
//
// expect: states=184 transitions=324 verdict=holds

c_decl { typedef struct node { int v; struct node *next; } node; int used; }
c_decl { union u { int i; unsigned char b[4]; } ; }
c_state "union u word" "Global"
byte lo;
active [2] proctype P() {
  byte k;
  do
  :: k < 3 -> c_code { now.word.b[PP->k] += 7; }; k++
  :: else -> break
  od;
  c_code { now.lo = now.word.i & 0xff; }
}

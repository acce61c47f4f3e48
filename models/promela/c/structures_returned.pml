// A function that returns a structure with parts, and copies of it.
//
// expect: states=16 transitions=15 verdict=holds

c_decl { typedef struct { char tag; short s[2]; struct { int lo; long hi; } r; } Rec; Rec a, b; Rec make(int n) { Rec r = { 'x', { n, n + 1 }, { n * 2, n } }; return r; } }
c_track "&a" "sizeof(Rec)"
c_track "&b" "sizeof(Rec)"
active proctype P() { byte n; do :: n < 4 -> c_code { a = make(PP->n); if (a.s[1] > 2) b = a; else memcpy(&b, &a, sizeof(b)); }; n++ :: else -> break od;
 assert(c_expr { b.r.hi == 3 && b.s[0] == 3 }) }

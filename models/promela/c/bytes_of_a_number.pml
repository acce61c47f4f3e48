// The bytes of a number by a pointer to characters.
//
// expect: states=6 transitions=5 verdict=holds

c_decl { unsigned sum(const unsigned char *p, int n) { unsigned s = 0; while (n-- > 0) s += *p++; return s; } }
int w = 16909060; byte t;
init { c_code { now.t = sum((unsigned char *) &now.w, sizeof(now.w)); }; assert(t == 10);
  c_code { unsigned char *p = (unsigned char *) &now.w; p[0] = 0xff; }; assert(w == 16909311) }

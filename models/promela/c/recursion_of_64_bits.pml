// A function that calls itself with a number of 64 bits.
//
// expect: states=52 transitions=51 verdict=holds

c_decl { long long fact(int n) { long long r; if (n < 2) return 1; r = fact(n - 1); return r * n; } }
byte n; int hi, lo;
active proctype P() { do :: n < 16 -> n++; c_code { long long f = fact(now.n); now.hi = f >> 32; now.lo = f; } :: n == 16 -> break od; assert(hi == 4871 && lo == 2004189184) }

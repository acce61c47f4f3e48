// Functions that call themselves, one of them twice.
//
// expect: states=34 transitions=33 verdict=holds

c_decl {
  int fib(int n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }
  int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
}
int x, y;
active proctype P() { byte n;
  do :: n < 10 -> c_code { now.x = fib(PP->n); now.y = gcd(now.x, 12); }; n++
     :: else -> break od; assert(x == 34) }

// Arithmetic on 64 bits that overflows, a hash over a text behind a moving pointer.
//
// expect: states=64 transitions=63 verdict=holds

c_decl {
  unsigned long hash(const char *s) { unsigned long h = 5381; while (*s) { h = h * 33 + *s; s++; } return h; }
  unsigned long long big = 1;
}
c_track "&big" "sizeof(big)"
int bucket;
active proctype P() { byte i;
  c_code { now.bucket = hash("hello world, this is long") % 97; };
  do :: i < 20 -> c_code { big = big * 6364136223846793005ULL + 1442695040888963407ULL; now.bucket = (big >> 60) & 7; }; i++
     :: else -> break od }

// Structures with padding are compared and copied as a whole.
//
// expect: states=31 transitions=33 verdict=holds

c_decl { \#include <string.h>
typedef struct { unsigned char id; unsigned short len; int body[2]; } Pkt; Pkt a, b; }
c_track "&a" "sizeof(Pkt)"
c_track "&b" "sizeof(Pkt)"
byte n;
init {
  c_code { memset(&a, 0, sizeof(a)); memset(&b, 0, sizeof b); };
  do
  :: n < 3 -> n++; c_code { a.id++; a.len += 300; a.body[now.n & 1] = a.len * now.n; }
  :: c_expr { memcmp(&a, &b, sizeof(Pkt)) } -> c_code { memcpy(&b, &a, sizeof(Pkt)); }
  :: n == 3 && c_expr { b.id == 3 } -> break
  od
}

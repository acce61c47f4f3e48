// Structures are copied to a message as bytes and back, with padding.
//
// expect: states=12 transitions=11 verdict=holds

c_decl { \#include <string.h>
typedef struct { unsigned char id; unsigned short len; _Bool last; double d; char *p; } Pkt; unsigned char wire[32]; Pkt in, out; int words[3]; }
c_track "wire" "sizeof(wire)"
c_track "&out" "sizeof(Pkt)"
c_track "words" "sizeof(words)"
byte k;
active proctype P() { do :: k < 3 -> c_code { memset(&in, 0, sizeof(in)); in.id = now.k + 1; in.len = 1000 * now.k; in.last = now.k == 2; in.d = now.k * 0.5; memset(wire, 0, sizeof(wire)); memcpy(wire, &in, sizeof(in)); memcpy(&out, wire, sizeof(Pkt)); now.k++; words[0] = 0x01020304; memcpy((char *) words + 5, (char *) words + 1, 2); } ; assert(c_expr { out.id == now.k && out.len == 1000 * (now.k - 1) && out.last == (now.k == 3) && out.d == 0.5 * (now.k - 1) && out.p == 0 && words[1] == 0x020300 && wire[2] == ((1000 * (now.k - 1)) & 255) }) :: k == 3 -> break od }

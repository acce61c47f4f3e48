// An array of unions, with initial values and copies.
//
// expect: states=160 transitions=216 verdict=holds

c_decl { typedef union { unsigned w; unsigned short h[2]; unsigned char b[4]; } Reg; Reg regs[2] = { { 0x01020304 }, { .b = { 1, 2, 3, 4 } } }; }
c_track "regs" "sizeof(regs)"
byte k;
active [2] proctype P() { do :: k < 3 -> c_code { Reg r = regs[PP->_pid]; r.h[now.k & 1] += r.b[now.k]; regs[1 - PP->_pid] = r; regs[0].b[3] ^= regs[1].w & 3; now.k++; } :: k >= 3 -> break od }

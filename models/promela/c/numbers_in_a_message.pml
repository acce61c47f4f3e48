// Numbers are written into characters and read from them, across the limits of others.
//
// expect: states=42 transitions=65 verdict=violated violation="invalid end state"

c_decl { unsigned char buf[12]; unsigned get(const void *p) { return *(const unsigned *) p; } void put(void *p, unsigned short v) { *(unsigned short *) p = v; } }
c_track "buf" "sizeof(buf)"
int r; byte k;
active [2] proctype P() { do :: k < 4 -> c_code { put(buf + 2 * now.k, 0x1234 + now.k); now.r = get(buf + 4); now.k++; } :: k == 4 -> break od; assert(k < 4 || r == 305599030) }

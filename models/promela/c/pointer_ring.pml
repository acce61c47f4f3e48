// A pointer that is part of the state walks around a ring.
//
// expect: states=286 transitions=349 verdict=holds

c_decl {
  int buf[5]; int *head = buf; int count;
  void put(int v) { *head = v; head++; if (head == buf + 5) head = buf; count++; }
}
c_track "buf" "sizeof(buf)"
c_track "&head" "sizeof(int *)"
c_track "&count" "sizeof(int)"
active proctype P() {
  do :: c_expr { count < 7 } -> if :: c_code { put(1); } :: c_code { put(2); } fi
     :: else -> break od }

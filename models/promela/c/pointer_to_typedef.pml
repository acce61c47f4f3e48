// A pointer to an element of an array of a type of Promela.
//
// expect: states=14 transitions=13 verdict=holds

typedef Node { byte v; bool up; byte peers[2] };
Node n[3];
byte total;
active proctype P() { byte i; c_code { int k; for (k = 0; k < 3; k++) { now.n[k].v = k * k; now.n[k].peers[k % 2] = k; now.n[k].up = k & 1; } };
 do :: i < 3 -> c_code { struct Node *p = &now.n[PP->i]; now.total += p->v + p->peers[0] + p->peers[1] + p->up; }; i++ :: else -> break od; assert(total == 9) }

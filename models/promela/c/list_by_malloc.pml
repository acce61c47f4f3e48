// A list that is allocated and given back in one step.
//
// expect: states=49 transitions=80 verdict=holds

c_decl { \#include <stdlib.h>
struct n { int v; struct n *next; };
int total(int k) { struct n *h = 0; int i, s = 0; for (i = 0; i < k; i++) { struct n *e = malloc(sizeof(struct n)); e->v = i * i; e->next = h; h = e; }
  while (h) { struct n *d = h; s += h->v; h = h->next; free(d); } return s; } }
int x; byte k;
active [2] proctype P() { do :: k < 4 -> c_code { now.x = total(now.k); now.k++; } :: k >= 4 -> break od; assert(x <= 14) }

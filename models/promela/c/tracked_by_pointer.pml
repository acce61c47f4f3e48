// What pointers point to is tracked: nodes from malloc.
//
// expect: states=10 transitions=9 verdict=holds

c_decl { \#include <stdlib.h>
typedef struct node { int v; struct node *next; } node; node *n1, *n2; }
c_track "n1" "sizeof(node)"
c_track "n2" "sizeof(node)"
c_code { }
byte k;
init { c_code { if (!n1) { n1 = malloc(sizeof(node)); n2 = malloc(sizeof(node)); memset(n1, 0, sizeof(node)); memset(n2, 0, sizeof(node)); } n1->v = 1; n1->next = n2; n2->v = 2; n2->next = 0; };
 do :: k < 3 -> c_code { n1->v += n1->next ? n1->next->v : 0; if (n1->v > 4) n1->next = 0; now.k++; } :: k == 3 -> break od }

// A stack as a linked list in a pool; the pointers are part of the state.
//
// expect: states=692 transitions=1079 verdict=holds

c_decl {
  struct node { int v; struct node *next; };
  struct node pool[4]; struct node *top; int used;
  void push(int v) { struct node *n = &pool[used++]; n->v = v; n->next = top; top = n; }
  int pop() { int v = top->v; top = top->next; used--; return v; }
}
c_track "pool" "sizeof(pool)"
c_track "&top" "sizeof(top)"
c_track "&used" "sizeof(int)"
byte got;
active proctype P() {
  do :: c_expr { used < 4 } -> if :: c_code { push(7); } :: c_code { push(9); } fi
     :: c_expr { top != NULL } -> c_code { now.got = pop(); }
  od }

// A queue kept in a structure of C, used by three processes.
//
// expect: states=2704 transitions=6769 verdict=violated violation="invalid end state"

c_decl {
	typedef struct Queue { int head, count; unsigned char item[3]; } Queue;
}
c_state "Queue q" "Global"
byte got;

c_code {
	int push(Queue *q, int v)
	{
		if (q->count == 3) return 0;
		q->item[(q->head + q->count) % 3] = v;
		q->count++;
		return 1;
	}
	int pop(Queue *q)
	{
		int v = q->item[q->head];
		q->item[q->head] = 0;
		q->head = (q->head + 1) % 3;
		q->count--;
		return v;
	}
}

active [2] proctype Producer() {
	byte k = 1;
	do
	:: k < 3 -> c_expr { now.q.count < 3 } -> c_code { push(&now.q, PProducer->k * 10 + PProducer->_pid); }; k++
	:: else -> break
	od
}
active proctype Consumer() {
	byte n;
	do
	:: n < 4 -> c_expr { now.q.count > 0 } -> c_code { now.got = pop(&now.q); }; n++
	:: else -> break
	od;
	c_expr { now.q.count == 0 }
}

// Local variables of a process are reached through the name of its type.
//
// expect: states=91 transitions=162 verdict=holds

byte sum;

active [2] proctype Worker() {
	int i = 0;
	byte own = 3;
	do
	:: c_expr { PWorker->i < PWorker->own } ->
		c_code {
			PWorker->i++;
			now.sum = now.sum + PWorker->i;
		}
	:: else -> break
	od;
	assert(i == 3)
}

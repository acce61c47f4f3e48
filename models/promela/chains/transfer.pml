// A file transfer: a session layer above a flow-control layer with a window of two, on both sides of a line that loses messages.
// What arrives is what was sent, in order.
//
// expect: states=27024 transitions=88656 verdict=holds

#ifndef FILES
#define FILES 1
#endif
#define WINDOW 2
#define NUMBERS 4

mtype = { open, data, close, ack };
chan down = [1] of { mtype, byte };
chan out = [1] of { mtype, byte };
chan back = [1] of { mtype, byte };
chan up = [1] of { mtype, byte };

proctype Sender() {
	byte file, part;
	do
	:: file < FILES ->
		down!open(file);
		part = 0;
		do
		:: part < 2 -> down!data(part); part++
		:: else -> break
		od;
		down!close(file);
		file++
	:: else -> break
	od
}

proctype SendingFlow() {
	mtype kind[NUMBERS], what;
	byte value[NUMBERS], oldest, next, n, v;
	byte waiting;
end:	do
	:: waiting < WINDOW && nempty(down) ->
		down?what(v);
		kind[next] = what;
		value[next] = v;
		waiting++;
		n = next;
		next = (next + 1) % NUMBERS;
		out!what(n * 4 + v)
	:: back?ack(n) ->
		if
		:: (n + NUMBERS - oldest) % NUMBERS < waiting ->
			v = (n + NUMBERS - oldest) % NUMBERS + 1;
			do
			:: v > 0 -> kind[oldest] = 0; value[oldest] = 0; oldest = (oldest + 1) % NUMBERS; waiting--; v--
			:: else -> break
			od
		:: else -> skip
		fi
	:: timeout && waiting > 0 -> out!kind[oldest](oldest * 4 + value[oldest])
	od
}

proctype ReceivingFlow() {
	mtype what;
	byte v, n, expected;
end:	do
	:: out?what(v)
	:: out?what(v) ->
		n = v / 4;
		v = v % 4;
		if
		:: n == expected ->
			up!what(v);
			expected = (expected + 1) % NUMBERS
		:: else -> skip
		fi;
		n = (expected + NUMBERS - 1) % NUMBERS;
		back!ack(n)
	od
}

proctype Receiver() {
	byte file, part, v;
	do
	:: file < FILES ->
		up?open(v);
		assert(v == file);
		part = 0;
		do
		:: part < 2 -> up?data(v); assert(v == part); part++
		:: else -> break
		od;
		up?close(v);
		assert(v == file);
		file++
	:: else -> break
	od
}

init {
	atomic {
		run Sender();
		run SendingFlow();
		run ReceivingFlow();
		run Receiver()
	}
}

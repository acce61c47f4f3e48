// Messages with contents, a logger and a clock. No formula speaks of the contents, the log and the time: a slice for `order`
// has neither, nor the processes that make them. For `arrives` the clock must stay: nothing arrives while it ticks for ever.
//
// expect: order=holds arrives=violated
// expect weak: order=holds arrives=holds

chan data = [2] of { bit, byte };
chan answer = [1] of { bit };
byte sent, got;
byte ticks, log;

active proctype Sender() {
	bit number;
	byte contents;
	do
	:: data!number(contents) ->
		sent = 1 - sent;
		contents = (contents * 3 + 1) % 11;
		answer?eval(number);
		number = 1 - number
	od
}

active proctype Receiver() {
	bit number, next;
	byte contents, sum;
	do
	:: data?number(contents) ->
		assert(number == next);
		next = 1 - next;
		sum = sum + contents;
		got = 1 - got;
		answer!number
	od
}

active proctype Clock() {
	do
	:: ticks = (ticks + 1) % 7
	od
}

active proctype Logger() {
	log = 1;
	log = got;
	log = sent
}

ltl order { [] ((got == 1) -> ((sent == 1) || (sent == 0))) }
ltl arrives { <> (got == 1) }

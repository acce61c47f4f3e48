// The alternating bit protocol over channels that lose messages.
//
// expect: states=664 transitions=1743 verdict=holds

#ifndef MAX
#define MAX 3
#endif

mtype = { data, ack };
chan to_receiver = [1] of { mtype, byte, bit };
chan to_sender = [1] of { mtype, bit };
byte expected;

active proctype Sender() {
	byte item;
	bit b, got;
	do
	:: to_receiver!data(item, b)
	:: to_sender?ack(got) ->
		if
		:: got == b -> b = 1 - b; item = (item + 1) % MAX
		:: got != b
		fi
	od
}

active proctype Receiver() {
	byte item;
	bit b, wanted;
	do
	:: to_receiver?data(item, b) ->
		if
		:: b == wanted ->
			assert(item == expected);
			expected = (expected + 1) % MAX;
			wanted = 1 - wanted
		:: b != wanted
		fi;
		to_sender!ack(b)
	od
}

active proctype Thief() {
	do
	:: to_receiver?_,_,_
	:: to_sender?_,_
	od
}

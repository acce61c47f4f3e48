// Go back n: a window of W messages numbered modulo W + 1, over channels that lose messages.
//
// expect: states=3651 transitions=7240 verdict=holds

#ifndef W
#define W 2
#endif
#define M (W + 1)

chan line = [1] of { byte, byte };
chan back = [1] of { byte };
byte wanted;

active proctype Sender() {
	byte base, next, payload, a;
	do
	:: (next - base + M) % M < W ->
		atomic { line!next,payload; next = (next + 1) % M; payload = (payload + 1) % 4 }
	:: back?a ->
		if
		:: (a - base + M) % M < (next - base + M) % M -> base = (a + 1) % M
		:: else
		fi
	:: timeout ->
		d_step { payload = (payload - (next - base + M) % M + 8) % 4; next = base }
	od
}

active proctype Receiver() {
	byte seq, data, expected;
	do
	:: line?seq,data ->
		if
		:: seq == expected ->
			assert(data == wanted);
			wanted = (wanted + 1) % 4;
			back!seq;
			expected = (expected + 1) % M
		:: else -> back!(expected + M - 1) % M
		fi
	od
}

active proctype Thief() {
	do
	:: line?_,_
	:: back?_
	od
}

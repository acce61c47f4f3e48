// Messages between processes whose data is computed in C.
//
// expect: states=56 transitions=61 verdict=holds

chan data = [2] of { byte, byte };
chan ack = [0] of { bit };
byte good;

c_code {
	unsigned char checksum(unsigned char v)
	{
		unsigned char s = 0;
		int i;
		for (i = 0; i < 8; i++)
			s ^= (v >> i) & 1 ? (i * 3 + 1) : 0;
		return s;
	}
}

active proctype Sender() {
	byte v = 5, s;
	do
	:: v < 8 ->
		c_code { PSender->s = checksum(PSender->v); };
		if
		:: data ! v, s
		:: data ! v, (s ^ 1)
		fi;
		if :: ack ? 1 -> v++ :: ack ? 0 fi
	:: else -> break
	od
}
active proctype Receiver() {
	byte v, s;
end:
	do
	:: data ? v, s ->
		c_code { PReceiver->v = checksum(PReceiver->v); };
		if
		:: c_expr { PReceiver->v == PReceiver->s } -> good++; ack ! 1
		:: else -> ack ! 0
		fi
	od
}

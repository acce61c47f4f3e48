// The order of messages: what is requested is answered before the next request, with its number.
//
// expect: :trace:=holds

mtype = { request, answer };
chan to = [1] of { mtype, byte };
chan from = [1] of { mtype, byte };
chan other = [1] of { byte };

active proctype Client() {
	byte n;
	do
	:: to!request(n); other!n; from?answer(eval(n)); n = 1 - n
	od
}

active proctype Server() {
	byte n;
end:	do
	:: to?request(n); other?_; from!answer(n)
	od
}

trace {
end:	do
	:: to!request(0); to?request(0); from!answer(0); from?answer(0);
	   to!request(1); to?request(1); from!answer(1); from?answer(1)
	od
}

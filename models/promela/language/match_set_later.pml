// A receive compares with a variable that another process sets: whether it matches is not a matter
// of the channel alone. A reduction that overlooks the variable lets Taker have the message always.
// expect: states=9 transitions=10 verdict=violated violation="assertion violated"
byte x;
chan c = [1] of { byte };

active proctype Sender() { c!2 }
active proctype Setter() { x = 2 }
active proctype Taker() { end: c?2 }
active proctype Matcher() { end: c?eval(x); assert(false) }

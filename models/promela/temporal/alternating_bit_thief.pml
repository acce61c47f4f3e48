// The alternating bit protocol with a process that takes messages out of the channels. A run on which the thief takes all
// of them is no reason to complain if processes are treated fairly: the others could take a message again and again. Weak
// fairness is not enough for that, since the thief empties the channels in between.
//
// expect: delivery=violated alternates=holds
// expect weak: delivery=violated alternates=holds
// expect strong: delivery=holds alternates=holds

chan data = [1] of { bit };
chan acks = [1] of { bit };
bit sent, last;
bool delivered;

active proctype Sender() {
	do
	:: empty(data) -> data!sent
	od
}

active proctype Acknowledged() {
	bit answer;
	do
	:: atomic { acks?answer -> if :: answer == sent -> sent = 1 - sent :: else fi }
	od
}

active proctype Receiver() {
	bit message, expected;
	do
	::	data?message ->
		if
		:: message == expected -> last = message; delivered = true; expected = 1 - expected; delivered = false
		:: else
		fi;
		if
		:: full(acks)
		:: empty(acks) -> acks!message
		fi
	od
}

active proctype Thief() {
	do
	:: data?_
	:: acks?_
	od
}

ltl delivery { [] <> delivered }
ltl alternates { [] ((delivered && last == 1) -> (delivered W (!delivered W (delivered && last == 0)))) }

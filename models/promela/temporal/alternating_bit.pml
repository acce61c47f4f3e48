// The alternating bit protocol over channels that lose messages: without fairness everything may be lost for ever, and
// fairness of processes does not help, because the choice to lose is the sender's own. Only strong assumptions about
// messages do: if the medium delivers again and again, the receiver gets new data again and again.
//
// expect: delivery=violated under_assumption=holds order=holds
// expect weak: delivery=violated under_assumption=holds order=holds
// expect strong: delivery=violated under_assumption=holds order=holds

bit sent, got;
bool delivered;
chan data = [1] of { bit };
chan acks = [1] of { bit };

active proctype Sender() {
	bit answer;
	do
	::	empty(data) ->
		if
		:: data!sent
		:: skip	/* lost */
		fi
	::	acks?answer ->
		if
		:: answer == sent -> sent = 1 - sent
		:: else
		fi
	od
}

active proctype Receiver() {
	bit message;
	bit expected = 0;
	do
	::	data?message ->
		if
		:: message == expected -> got = message; delivered = 1; expected = 1 - expected
		:: else
		fi;
		delivered = 0;
		if
		:: full(acks)
		:: nfull(acks) -> acks!message
		:: skip	/* lost */
		fi
	od
}

ltl delivery { [] <> delivered }
ltl under_assumption { (([] <> full(data)) && ([] <> full(acks)) && ([] <> empty(acks)) && ([] <> empty(data)) && [] <> (sent == 0) && [] <> (sent == 1)) -> [] <> delivered }
ltl order { [] (delivered -> <> !delivered || [] delivered) }

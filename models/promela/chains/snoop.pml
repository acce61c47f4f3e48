// Two caches that snoop on a bus: each serves its processor, asks the bus for what it does not have, and listens to what the
// other one asks for.
//
// expect: states=4980 transitions=11313 verdict=holds

mtype = { read, write, done, share, own, granted, seen };
chan asked[2] = [1] of { mtype };
chan answered[2] = [1] of { mtype };
chan request[2] = [1] of { mtype };
chan grant[2] = [1] of { mtype };
chan heard[2] = [1] of { mtype };
chan reply[2] = [1] of { mtype };
byte owners;

proctype Processor(chan ask, answer) {
	xs ask;
	xr answer;
end:	do
	:: ask!read -> answer?done
	:: ask!write -> answer?done
	od
}

proctype Cache(chan ask, answer, want, granting, hear, say) {
	mtype what, state = done;
	xr ask;
	xs answer;
	xs want;
	xr granting;
	xr hear;
	xs say;
end:	do
	:: ask?read ->
		if
		:: state == done -> what = share; goto ask_the_bus
		:: else -> answer!done
		fi
	:: ask?write ->
		if
		:: state == own -> answer!done
		:: else -> what = own; goto ask_the_bus
		fi
	:: hear?share ->
		if
		:: state == own -> owners--; state = share
		:: else -> skip
		fi;
		say!seen
	:: hear?own ->
		if
		:: state == own -> owners--
		:: else -> skip
		fi;
		state = done;
		say!seen
	od;
ask_the_bus:
	want!what;
endwait: do
	:: hear?share ->
		if
		:: state == own -> owners--; state = share
		:: else -> skip
		fi;
		say!seen
	:: hear?own ->
		if
		:: state == own -> owners--
		:: else -> skip
		fi;
		state = done;
		say!seen
	:: granting?granted ->
		state = what;
		if
		:: state == own -> owners++; assert(owners == 1)
		:: else -> skip
		fi;
		say!seen;
		answer!done;
		goto end
	od
}

proctype Bus() {
	mtype what;
	byte who, other;
end:	do
	:: request[0]?what -> who = 0; goto serve
	:: request[1]?what -> who = 1; goto serve
	od;
serve:	other = 1 - who;
	if
	:: what == share -> heard[other]!share
	:: else -> heard[other]!own
	fi;
	reply[other]?seen;
	grant[who]!granted;
	reply[who]?seen;
	goto end
}

init {
	atomic {
		run Processor(asked[0], answered[0]);
		run Processor(asked[1], answered[1]);
		run Cache(asked[0], answered[0], request[0], grant[0], heard[0], reply[0]);
		run Cache(asked[1], answered[1], request[1], grant[1], heard[1], reply[1]);
		run Bus()
	}
}

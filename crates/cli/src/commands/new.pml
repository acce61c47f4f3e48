/* Two customers draw money from one account.
 *
 * A model describes what can happen, and leaves open in which order. `everypath check` tries every
 * order: what can go wrong in this model does go wrong in one of them.
 */

int balance = 100;	/* what is in the account */
int paid;		/* what the bank has paid out; variables begin at 0 */
byte done;		/* how many customers have left */

/* A process type. `active [2]` starts two processes of it, with the numbers 0 and 1 (`_pid`). */
active [2] proctype Customer() {
	int seen;

	/* A selection: one of its options is taken. An option begins with a guard, and can be taken only
	   while its guard is true. If no guard is true, the process waits. */
	if
	:: balance >= 60 ->
		seen = balance;		/* Each statement is a step: between two of them, */
		balance = seen - 60;	/* the other customer can move. */
		paid = paid + 60
	:: else			/* taken if no other option can be */
	fi;
	done++
}

/* A condition that stands alone is a statement: the process waits until it is true. An assertion
   is what must be true whenever a process comes to it. */
active proctype Bank() {
	done == 2;
	assert(balance + paid == 100)
}

/* A temporal property speaks of whole runs: `[]` means always, `<>` eventually. Take these two
 * lines out of the comment, and check again:
 *
 *   ltl bounded { [] (paid <= 100) }
 *   ltl served  { <> (done == 2) }
 *
 * To mend the model, let a customer look and draw in one step, which nobody can interrupt:
 *
 *   :: atomic { balance >= 60 -> balance = balance - 60; paid = paid + 60 }
 */

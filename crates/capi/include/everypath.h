#ifndef EVERYPATH_H
#define EVERYPATH_H

/* Generated from the Rust source. To change it, change that, and run: EVERYPATH_BLESS=1 cargo test -p capi */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// How a call went.
typedef enum EverypathStatus {
  // It did what it should.
  EVERYPATH_STATUS_OK = 0,
  // An argument is null where it must not be, or no UTF-8 text.
  EVERYPATH_STATUS_BAD_ARGUMENT = 1,
  // The program was refused.
  EVERYPATH_STATUS_BAD_PROGRAM = 2,
  // The bytes are no state of the program.
  EVERYPATH_STATUS_BAD_STATE = 3,
  // The program fails before its first state.
  EVERYPATH_STATUS_NO_INITIAL_STATE = 4,
  // The options do not go together.
  EVERYPATH_STATUS_BAD_OPTIONS = 5,
  // A mistake in this library. Please report it.
  EVERYPATH_STATUS_INTERNAL = 6,
} EverypathStatus;

// The answer of a check.
typedef enum EverypathVerdict {
  // Everything was explored, and nothing is wrong.
  EVERYPATH_VERDICT_HOLDS = 0,
  // Something is wrong; the visitor was told the steps that lead there.
  EVERYPATH_VERDICT_VIOLATED = 1,
  // A limit was reached before everything was explored, or the model states something that cannot be checked yet.
  EVERYPATH_VERDICT_UNKNOWN = 3,
} EverypathVerdict;

// A program that was read and accepted.
typedef struct EverypathProgram EverypathProgram;

// What a check may use. All zero means: no limits, breadth first.
typedef struct EverypathOptions {
  // Bytes of memory; 0 for no limit.
  uint64_t memory_bytes;
  // Milliseconds; 0 for no limit.
  uint64_t time_ms;
  // Steps from the initial state; 0 for no limit.
  uint64_t depth;
  // Search depth first, which keeps fewer waiting states, instead of breadth first, which finds the shortest trace.
  bool depth_first;
  // Explore everything without looking for violations.
  bool explore_only;
  // Ask for assertions, end states and run-time errors alone. Without it a formula or a claim in the model, which cannot be checked
  // yet, makes the verdict unknown.
  bool only_safety;
} EverypathOptions;

// A step, valid during the callback only.
typedef struct EverypathStep {
  // The state reached; null if the step fails for good.
  const uint8_t *state;
  // The number of its bytes.
  size_t length;
  // The number of the process that moves.
  uint32_t pid;
  // What happens, in the words of the source: `P(1): x = 1`. Empty for the initial state.
  const char *label;
  // What goes wrong in the step; null if nothing does.
  const char *fault;
} EverypathStep;

// Sees a step; answers whether to go on. It must return: no exception and no long jump may leave it.
typedef bool (*EverypathVisitor)(void *context, const struct EverypathStep *step);

// What a check found.
typedef struct EverypathResult {
  // The answer.
  enum EverypathVerdict verdict;
  // Distinct states.
  uint64_t states;
  // Steps between them.
  uint64_t transitions;
  // How deep the search went.
  uint64_t depth;
  // Wall-clock time.
  double seconds;
  // The memory of the state store at the end.
  uint64_t store_bytes;
} EverypathResult;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Reads a program from memory. The ending of its name, or its contents, tell the language. On success `*program` is a handle that
// `everypath_free` gives back; otherwise it is null.
//
// # Safety
// `name` is a string that ends in a zero byte; `contents` points to `length` bytes, or `length` is 0; `program` can be written.
enum EverypathStatus everypath_load(const char *name,
                                    const uint8_t *contents,
                                    size_t length,
                                    struct EverypathProgram **program);

// Gives a program back. Null is allowed and does nothing.
//
// # Safety
// `program` is null, or a handle from `everypath_load` that was not given back before and is not used afterwards.
void everypath_free(struct EverypathProgram *program);

// The sentence that explains the last call of this thread that did not return `EVERYPATH_STATUS_OK`. Never null; valid until the
// next such call of this thread.
const char *everypath_error(void);

// Looks for deadlocks and faults in all reachable states. If there is one, `visitor` (which may be null) is told the steps that lead to
// it, in order. `options` may be null.
//
// # Safety
// `program` is a handle from `everypath_load`; `options` is null or can be read; `visitor` may be called with `context`; `result` can
// be written.
enum EverypathStatus everypath_check(const struct EverypathProgram *program,
                                     const struct EverypathOptions *options,
                                     EverypathVisitor visitor,
                                     void *context,
                                     struct EverypathResult *result);

// Tells the initial state to `visitor`, once.
//
// # Safety
// `program` is a handle from `everypath_load`; `visitor` may be called with `context`.
enum EverypathStatus everypath_initial(const struct EverypathProgram *program,
                                       EverypathVisitor visitor,
                                       void *context);

// Tells each step that leaves a state to `visitor`, until it answers `false`. The order depends on the state alone.
//
// # Safety
// `program` is a handle from `everypath_load`; `state` points to `length` bytes; `visitor` may be called with `context`.
enum EverypathStatus everypath_successors(const struct EverypathProgram *program,
                                          const uint8_t *state,
                                          size_t length,
                                          EverypathVisitor visitor,
                                          void *context);

// Says in `*answer` whether a state without steps is one in which the program may end. If not, it is a deadlock.
//
// # Safety
// `program` is a handle from `everypath_load`; `state` points to `length` bytes; `answer` can be written.
enum EverypathStatus everypath_is_valid_end(const struct EverypathProgram *program,
                                            const uint8_t *state,
                                            size_t length,
                                            bool *answer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EVERYPATH_H */

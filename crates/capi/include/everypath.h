#ifndef EVERYPATH_H
#define EVERYPATH_H

/* Generated from the Rust source. To change it, change that, and run: EVERYPATH_BLESS=1 cargo test -p capi */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// The result of a call.
typedef enum EverypathStatus {
  // The call succeeded.
  EVERYPATH_STATUS_OK = 0,
  // A required argument is null, or a string is not UTF-8.
  EVERYPATH_STATUS_BAD_ARGUMENT = 1,
  // The program was refused.
  EVERYPATH_STATUS_BAD_PROGRAM = 2,
  // The bytes are not a state of the program.
  EVERYPATH_STATUS_BAD_STATE = 3,
  // The program fails before its first state.
  EVERYPATH_STATUS_NO_INITIAL_STATE = 4,
  // The options contradict each other.
  EVERYPATH_STATUS_BAD_OPTIONS = 5,
  // A mistake in this library. Please report it.
  EVERYPATH_STATUS_INTERNAL = 6,
  // The program was not loaded within the time limit.
  EVERYPATH_STATUS_LOAD_TIME = 7,
} EverypathStatus;

// The answer of a check.
typedef enum EverypathVerdict {
  // Everything was explored, and there is no violation.
  EVERYPATH_VERDICT_HOLDS = 0,
  // A property is violated; the visitor was called with the steps of the trace.
  EVERYPATH_VERDICT_VIOLATED = 1,
  // A limit was reached, the watcher stopped the check, or the model states a property that
  // cannot be checked.
  EVERYPATH_VERDICT_UNKNOWN = 3,
} EverypathVerdict;

// A program that was read and accepted.
typedef struct EverypathProgram EverypathProgram;

// The list to which a system adds initial states and steps.
typedef struct EverypathSteps EverypathSteps;

// The progress of a check.
typedef struct EverypathProgress {
  // Distinct states so far.
  uint64_t states;
  // Steps so far.
  uint64_t transitions;
  // States that are still to be expanded, or that are on the stack.
  uint64_t waiting;
  // The present depth.
  uint64_t depth;
  // The memory of the store and the search.
  uint64_t bytes;
  // The time since the start.
  double seconds;
} EverypathProgress;

// Called from time to time with the progress of a check; returns whether to continue. If not, the
// verdict is unknown. It may be called from a thread of the library, but never by two threads at
// once. It must return normally: no exception and no long jump may leave it.
typedef bool (*EverypathWatcher)(void *context, const struct EverypathProgress *progress);

// Limits and options of a check. All zero means: no limits, breadth first, one worker, no
// reduction. `everypath_usual_options` gives the options of the command `everypath check`. Names
// of orders, stores and fairness are those of its options.
typedef struct EverypathOptions {
  // The memory limit in bytes; 0 for no limit.
  uint64_t memory_bytes;
  // The time limit in milliseconds; 0 for no limit.
  uint64_t time_ms;
  // The depth limit in steps from the initial state; 0 for no limit.
  uint64_t depth;
  // Search depth first, which keeps fewer states to be expanded, instead of breadth first, which
  // finds a shortest trace.
  bool depth_first;
  // Explore everything without looking for violations.
  bool explore_only;
  // Check only assertions, end states and run-time errors, and no formulas, claims and accept
  // labels.
  bool only_safety;
  // The number of workers; 0 means one. A strictly depth-first search always has one.
  uint32_t threads;
  // The function that is called with the progress and may stop the check; null for none. It gets
  // the same context as the visitor.
  EverypathWatcher watcher;
  // Leave out orders of independent steps and make the program smaller, where that changes no
  // verdict. The counts are then those of the smaller state space.
  bool reduce;
  // The order of the search, as in "auto", "dfs" or "astar"; null for breadth first or depth
  // first, as `depth_first` says.
  const char *order;
  // The store of visited states, as in "compact" or "hash"; null for "auto".
  const char *store;
  // The infinite runs that count: "none" for all, "weak" or "strong"; null for all.
  const char *fairness;
} EverypathOptions;

// A step, valid during the callback only.
typedef struct EverypathStep {
  // The state reached; null if the step ends in a fatal fault.
  const uint8_t *state;
  // The number of its bytes.
  size_t length;
  // The number of the process that moves.
  uint32_t pid;
  // The statements executed, in the text of the source: `P(1): x = 1`. Empty for the initial
  // state.
  const char *label;
  // The fault of the step; null if there is none.
  const char *fault;
} EverypathStep;

// Called with a step; returns whether to continue. It must return normally: no exception and no
// long jump may leave it.
typedef bool (*EverypathVisitor)(void *context, const struct EverypathStep *step);

// The result of a check.
typedef struct EverypathResult {
  // The answer.
  enum EverypathVerdict verdict;
  // Distinct states.
  uint64_t states;
  // Steps between them.
  uint64_t transitions;
  // The depth that the search reached.
  uint64_t depth;
  // The wall-clock time.
  double seconds;
  // The memory of the state store at the end.
  uint64_t store_bytes;
} EverypathResult;

// A transition system of the caller. States are byte strings. The steps of a state, and their
// order, must depend on its bytes alone. With several workers, the functions are called by several
// threads at the same time. They must return normally: no exception and no long jump may leave
// them.
typedef struct EverypathSystem {
  // Emits the initial states.
  void (*initial)(void *context, struct EverypathSteps *steps);
  // Emits the steps that leave a state.
  void (*successors)(void *context,
                     const uint8_t *state,
                     size_t length,
                     struct EverypathSteps *steps);
  // Returns whether a state without steps is an accepted end and not a deadlock. Null if there
  // are no accepted ends.
  bool (*is_valid_end)(void *context, const uint8_t *state, size_t length);
  // The argument for these functions.
  void *context;
} EverypathSystem;

// A set of visited states of the caller. It must be exact: a state that was not inserted before is
// never reported as known.
typedef struct EverypathStore {
  // Inserts a state. Returns 1 if it is new, 0 if it was already there, and a negative number if
  // there is no room, which ends the search with the verdict "unknown". It is never called by
  // two threads at once. It must return normally: no exception and no long jump may leave it.
  int32_t (*insert)(void *context, const uint8_t *state, size_t length);
  // The argument for this function.
  void *context;
} EverypathStore;

// A name with a text: a definition for the preprocessor, or a file that the program may include.
typedef struct EverypathNamed {
  // The name. A file is looked up relative to the file that includes it.
  const char *name;
  // The value of the definition, or the text of the file.
  const char *text;
} EverypathNamed;

// How a program is read. All zero means: nothing is defined or included, and there is no limit.
typedef struct EverypathReading {
  // Names defined for the preprocessor; null if there are none.
  const struct EverypathNamed *defines;
  // Their number.
  size_t define_count;
  // Files that the program may include; null if there are none.
  const struct EverypathNamed *includes;
  // Their number.
  size_t include_count;
  // A formula of linear temporal logic over expressions of the program, or null. If there is
  // one, a check is about this formula alone.
  const char *formula;
  // The time limit in milliseconds; 0 for no limit.
  uint64_t time_ms;
} EverypathReading;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Reads a program from memory. The language is recognised by the ending of its name or by its
// contents. On success `*program` is a handle that must be freed with `everypath_free`; otherwise
// it is null. `everypath_read` can do more: definitions, included files, a formula, a time limit.
//
// # Safety
// `name` is a string that ends in a zero byte; `contents` points to `length` bytes, or `length` is
// 0; `program` can be written.
enum EverypathStatus everypath_load(const char *name,
                                    const uint8_t *contents,
                                    size_t length,
                                    struct EverypathProgram **program);

// Frees a program. Null is allowed and does nothing.
//
// # Safety
// `program` is null, or a handle from `everypath_load` that was not freed before and is not used
// afterwards.
void everypath_free(struct EverypathProgram *program);

// The sentence that explains the last call of this thread that did not return
// `EVERYPATH_STATUS_OK`, or the last check whose verdict was not "holds". Never null; valid until
// the next such call of this thread.
const char *everypath_error(void);

// Sets all options to those of the command `everypath check`: all reductions, its order, and a
// worker for each core. There are no limits; the command has a memory limit of most of what is
// free.
//
// # Safety
// `options` can be written.
enum EverypathStatus everypath_usual_options(struct EverypathOptions *options);

// Searches all reachable states for deadlocks and faults. If there is one, `visitor` (which may be
// null) is called with the steps that lead to it, in order. `options` may be null. Unless the
// verdict is "holds", `everypath_error` returns a sentence that describes the violation, or the
// reason why the verdict is unknown.
//
// # Safety
// `program` is a handle from `everypath_load`; `options` is null or can be read, and its texts are
// null or end in a zero byte; `visitor` may be called with `context`, the watcher too, and from
// another thread; `result` can be written.
enum EverypathStatus everypath_check(const struct EverypathProgram *program,
                                     const struct EverypathOptions *options,
                                     EverypathVisitor visitor,
                                     void *context,
                                     struct EverypathResult *result);

// Adds an initial state, or the state to which a step leads. The steps of a state are numbered
// from 0 in the order in which they are emitted; a trace shows these numbers as labels.
//
// # Safety
// `steps` is the argument of the function of a system that is running; `state` points to `length`
// bytes.
enum EverypathStatus everypath_emit(struct EverypathSteps *steps,
                                    const uint8_t *state,
                                    size_t length);

// Adds a step that fails and leads to no state. `code` is a number of the caller's choice and not
// 0; the message of the violation contains it.
//
// # Safety
// `steps` is the argument of the function of a system that is running.
enum EverypathStatus everypath_emit_fault(struct EverypathSteps *steps, uint32_t code);

// Explores all states of a system. If a state without steps is not an accepted end, or a step
// fails, `visitor` (which may be null) is called with the path that leads there: first the initial
// state, whose label is empty, then each step. `store` may be null: then the library keeps the
// states. `options` may be null; `reduce`, `store` and `fairness` in them are for programs only. A
// memory limit counts the bytes of the states in the caller's store. Unless the verdict is
// "holds", `everypath_error` returns a sentence that describes the violation, or the reason why
// the verdict is unknown.
//
// # Safety
// `system` can be read, and its functions may be called with its context, by several threads if
// the options ask for several workers; the same is true for `store`, which may be null; `options`
// is null or can be read, and its texts end in a zero byte; `visitor` may be called with
// `context`, the watcher too, and from another thread; `result` can be written.
enum EverypathStatus everypath_explore(const struct EverypathSystem *system,
                                       const struct EverypathStore *store,
                                       const struct EverypathOptions *options,
                                       EverypathVisitor visitor,
                                       void *context,
                                       struct EverypathResult *result);

// Reads a program like `everypath_load`, with names defined for its preprocessor, files that it
// may include, a formula to check, and a time limit. `reading` may be null. After the time limit
// the call returns `EVERYPATH_STATUS_LOAD_TIME`.
//
// # Safety
// As for `everypath_load`; `reading` is null or can be read, its arrays have as many values as it
// says, and its texts are null, where that is allowed, or end in a zero byte.
enum EverypathStatus everypath_read(const char *name,
                                    const uint8_t *contents,
                                    size_t length,
                                    const struct EverypathReading *reading,
                                    struct EverypathProgram **program);

// Calls `visitor` once, with the initial state.
//
// # Safety
// `program` is a handle from `everypath_load`; `visitor` may be called with `context`.
enum EverypathStatus everypath_initial(const struct EverypathProgram *program,
                                       EverypathVisitor visitor,
                                       void *context);

// Calls `visitor` with each step that leaves a state, until it returns `false`. The order depends
// on the state alone.
//
// # Safety
// `program` is a handle from `everypath_load`; `state` points to `length` bytes; `visitor` may be
// called with `context`.
enum EverypathStatus everypath_successors(const struct EverypathProgram *program,
                                          const uint8_t *state,
                                          size_t length,
                                          EverypathVisitor visitor,
                                          void *context);

// Sets `*answer` to whether the program may end in a state without steps. If not, the state is a
// deadlock.
//
// # Safety
// `program` is a handle from `everypath_load`; `state` points to `length` bytes; `answer` can be
// written.
enum EverypathStatus everypath_is_valid_end(const struct EverypathProgram *program,
                                            const uint8_t *state,
                                            size_t length,
                                            bool *answer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EVERYPATH_H */

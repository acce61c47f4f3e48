//! The files of a program: the common header, one program for each process type, `init`, the run
//! time and the Makefile.

use crate::expression::call;
use crate::names::number;
use crate::pieces::{HERE, is_shared_scope, number_lines};
use crate::{Generator, Options, ProgramLayout};
use promela::PieceKind;
use promela::ast::{Embedded, Initial, Proctype, Step, Stmt, StmtKind, TypeName, Unit};
use std::collections::HashMap;
use std::fmt::Write;

impl Generator<'_> {
    pub(crate) fn files(&mut self, name: &str) -> Vec<(String, String)> {
        let mut files = vec![("init.h".to_owned(), self.header())];
        let processes = self.processes();
        for process in &processes {
            if crate::reserved::is_file(&process.name.text) {
                let message =
                    format!("a program cannot be called `{}`, which is the name of something else in its folder", process.name.text);
                self.error(process.name.span, message, "give the process type another name");
            }
            files.push((format!("{}.c", process.name.text), self.process(process)));
        }
        files.push(("init.c".to_owned(), self.first()));
        for (name, text) in &mut files {
            *text = number_lines(name, text);
        }
        files.extend(runtime(self.options).map(|(name, text)| (name.to_owned(), text.to_owned())));
        let tests = self.tests();
        files.push(("Makefile".to_owned(), makefile(name, &processes, self.options, tests.is_some())));
        files.extend(tests.map(|tests| ("tests.c".to_owned(), number_lines("tests.c", &tests))));
        files
    }

    /// The header that all programs include: types, shared variables, declarations of C.
    fn header(&mut self) -> String {
        let mut text =
            String::from("/* Generated: changes made here are lost. */\n#ifndef INIT_H\n#define INIT_H\n\n#include \"everypath.h\"\n\n");
        let source = self.source.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(text, "const char ep_source[] = \"{source}\";\n");
        for (set, values) in self.names.mtypes.clone() {
            let name = set.map_or("mtype".to_owned(), |set| format!("mtype_{set}"));
            let list: Vec<String> = values
                .iter()
                .enumerate()
                .map(|(i, v)| if i == 0 { format!("{} = 1", self.names.outside(v)) } else { self.names.outside(v) })
                .collect();
            let _ = writeln!(text, "enum {name} {{ {} }};\n", list.join(", "));
        }
        if let Some((_, values)) = self.names.mtypes.iter().find(|(set, _)| set.is_none()) {
            text.push_str("static inline const char *mtype_name(int value)\n{\n\tstatic const char *const names[] = { \"0\"");
            values.iter().for_each(|value| text.push_str(&format!(", \"{value}\"")));
            let count = values.len() + 1;
            let _ = writeln!(text, " }};\n\treturn value >= 0 && value < {count} ? names[value] : \"?\";\n}}\n");
        } else {
            text.push_str("enum mtype { ep_no_message = 1 };\n\nstatic inline const char *mtype_name(int value)\n{\n\treturn value ? \"?\" : \"0\";\n}\n\n");
        }
        let units = &self.hybrid.program.units;
        let mut later = Vec::new();
        for unit in units {
            match unit {
                Unit::Typedef(typedef) => {
                    let name = self.names.outside(&typedef.name.text);
                    let _ = writeln!(text, "typedef struct {name} {{");
                    for fragment in &typedef.embedded {
                        let place = self.line_directive(fragment.place(0, 1));
                        let _ = write!(text, "{place}\t{}\n{HERE}\n", fragment.text.trim());
                    }
                    for field in &typedef.fields {
                        for variable in &field.variables {
                            let _ = writeln!(text, "\t{};", self.declarator(field, variable));
                        }
                    }
                    let _ = writeln!(text, "}} {name};\n");
                }
                Unit::Embedded(Embedded::Declarations(fragment)) if self.uses_model(fragment) => later.push(fragment),
                Unit::Embedded(Embedded::Declarations(fragment)) => text.push_str(&self.c_declarations(fragment)),
                Unit::Embedded(Embedded::State { declaration, scope, initial, .. }) if is_shared_scope(scope) => {
                    text.push_str(&self.c_state_variable(declaration, initial.as_ref()));
                }
                _ => {}
            }
        }
        let globals = self.names.globals.clone();
        if !globals.is_empty() {
            text.push_str("struct ep_globals {\n");
            for (declaration, variable) in &globals {
                let _ = writeln!(text, "\t{};", self.declarator(declaration, variable));
            }
            let before = std::mem::replace(&mut self.last_place, "ep_after_globals".to_owned());
            let _ =
                writeln!(text, "}};\nenum {{ ep_at_globals = {before}, ep_after_globals = EP_AFTER(ep_at_globals, struct ep_globals) }};");
            text.push_str("#define globals ((struct ep_globals *) ((char *) ep_variables + ep_at_globals))\n\n");
        }
        for fragment in later {
            text.push_str(&self.c_declarations(fragment));
        }
        text.push_str("/* Sets the shared variables to their initial values. */\nstatic inline void start_globals(void)\n{\n");
        for (declaration, variable) in &globals {
            let name = format!("globals->{}", self.names.inside(&variable.name.text));
            for line in self.initial(&name, declaration, variable) {
                let _ = writeln!(text, "\t{line}");
            }
        }
        for name in &self.placed {
            let _ = writeln!(text, "\tmemcpy(&ep_c_{name}, &ep_first_{name}, sizeof ep_c_{name});");
        }
        text.push_str("}\n\n");
        let size = self.last_place.clone();
        let _ = writeln!(text, "enum {{ SHARES = {} }};\n#define GLOBALS_SIZE {size}\n\n#endif", u8::from(self.names.shares));
        text
    }

    fn process(&mut self, process: &Proctype) -> String {
        if let Some(provided) = &process.provided {
            self.error(provided.span, "`provided` has no translation", "write the condition where the process must wait");
        }
        if let Some(priority) = &process.priority {
            self.warn(priority.span, "the operating system decides which process runs: the priority is left out");
        }
        self.program(process, &process.name.text, &[])
    }

    /// The program that starts the others.
    fn first(&mut self) -> String {
        // Processes have the numbers that they have in the model: in the order of the text.
        let mut starts = vec!["ep_begin();".to_owned()];
        let units = self.hybrid.program.units.iter();
        let processes: Vec<&Proctype> = units
            .filter_map(|unit| match unit {
                Unit::Proctype(process) => Some(&**process),
                _ => None,
            })
            .collect();
        for process in processes {
            if process.is_init {
                starts.push("ep_enter();".to_owned());
                continue;
            }
            let Some(count) = process.active.as_ref() else { continue };
            let parameters: usize = process.parameters.iter().map(|parameter| parameter.variables.len()).sum();
            let start = call("ep_active", &process.name.text, &vec!["0".to_owned(); parameters]);
            match number(count) {
                Some(1) => starts.push(format!("{start};")),
                _ => {
                    let count = self.expr(count);
                    starts.push(format!("for (int i = 0; i < {count}; i++)"));
                    starts.push(format!("\t{start};"));
                }
            }
        }
        starts.extend(["ep_started();".to_owned(), "ep_end();".to_owned()]);
        match self.init() {
            Some(init) => self.program(init, "init", &starts),
            None => self.text("init", "", &starts, ""),
        }
    }

    fn program(&mut self, process: &Proctype, name: &str, starts: &[String]) -> String {
        self.names.locals = HashMap::new();
        self.inner.clear();
        self.names.lengths = HashMap::new();
        self.process = name.to_owned();
        self.learn_local(&process.body);
        self.ending = false;
        self.labels.clear();
        find_labels(&process.body, 0, &mut self.labels);
        self.loops.clear();
        (self.held, self.inside, self.indent) = (0, 0, 1);
        self.out.clear();
        let mut declarations = String::new();
        let mut argument = 0;
        for parameter in &process.parameters {
            self.remember(parameter);
            for variable in &parameter.variables {
                let mut leaves = Vec::new();
                let name = self.names.inside(&variable.name.text);
                self.names.leaves(&parameter.ty, &name, 0, &mut leaves);
                let _ = writeln!(declarations, "\t{} {name};", self.c_type(&parameter.ty));
                for (leaf, _) in leaves {
                    let _ = writeln!(declarations, "\t{leaf} = ep_argument({argument});");
                    argument += 1;
                }
            }
        }
        if argument > 0 {
            declarations.insert_str(0, "\t/* Parameters: */\n");
        }
        let mut own = String::new();
        for unit in &self.hybrid.program.units {
            if let Unit::Embedded(Embedded::State { declaration, scope, initial, .. }) = unit
                && scope.split_whitespace().eq(["Local", name])
            {
                let value = initial.as_ref().map_or(String::new(), |initial| format!(" = {}", initial.text));
                let _ = writeln!(own, "\t{}{value};", declaration.text.trim_end_matches(';'));
            }
        }
        let mut initial = Vec::new();
        // After the first statement, an initial value is stored where it stands. A constant is
        // stored at the beginning too, as the thesis has it.
        let mut begun = false;
        for step in &process.body {
            match step {
                Step::Declaration(declaration) => {
                    self.remember(declaration);
                    for variable in &declaration.variables {
                        let zero = if matches!(declaration.ty, TypeName::User(_)) || variable.length.is_some() { "{ 0 }" } else { "0" };
                        let _ = writeln!(own, "\t{} = {zero};", self.declarator(declaration, variable));
                        let name = self.names.inside(&variable.name.text);
                        let constant = matches!(&variable.initial, Some(Initial::Value(value)) if number(value).is_some());
                        if !begun || constant {
                            initial.extend(self.initial(&name, declaration, variable));
                        }
                    }
                }
                Step::Statement(Stmt { kind: StmtKind::EmbeddedDeclarations(fragment), .. }) => {
                    if self.options.layout == ProgramLayout::Loop && fragment.text.split_whitespace().any(|word| word == "static") {
                        self.warn(fragment.span, "in one process, all instances of this type share a `static` variable");
                    }
                    let place = self.line_directive(fragment.place(0, 1));
                    let text = self.piece(fragment, PieceKind::Statements).text;
                    let _ = write!(own, "{place}\t{}\n{HERE}\n", text.trim());
                }
                Step::Statement(_) => begun = true,
                _ => {}
            }
        }
        for line in &initial {
            let _ = writeln!(own, "\t{line}");
        }
        if !own.is_empty() {
            let _ = write!(declarations, "\t/* Declarations: */\n{own}");
        }
        self.steps(&process.body, true);
        let body = std::mem::take(&mut self.out);
        self.text(name, &declarations, starts, &body)
    }

    fn text(&self, name: &str, declarations: &str, starts: &[String], body: &str) -> String {
        let mut text = String::from("/* Generated: changes made here are lost. */\n#include \"init.h\"\n\n");
        let whole = self.options.layout == ProgramLayout::Loop && name == "init";
        if whole {
            // There is one unit, so that pieces of C are in the program once.
            self.processes().iter().for_each(|process| text.push_str(&format!("#include \"{}.c\"\n", process.name.text)));
            text.push('\n');
        }
        if self.options.layout == ProgramLayout::Loop {
            let _ = writeln!(text, "static int process_{name}(void)\n{{");
        } else {
            text.push_str("int main(int argc, char *argv[])\n{\n");
            let _ = writeln!(text, "\tep_attach(\"{name}\", argc, argv, SHARES, GLOBALS_SIZE, start_globals);");
        }
        text.push_str(declarations);
        text.push_str("\t/* Statements: */\n");
        for start in starts {
            let _ = writeln!(text, "\t{start}");
        }
        text.push_str(body);
        text.push_str("\treturn ep_finish();\n}\n");
        if whole {
            text.push_str("\nint main(void)\n{\n\tstatic const struct ep_type types[] = {\n\t\t{ \"init\", process_init },\n");
            for process in self.processes() {
                let _ = writeln!(text, "\t\t{{ \"{0}\", process_{0} }},", process.name.text);
            }
            text.push_str("\t};\n\treturn ep_loop(types, sizeof types / sizeof types[0], GLOBALS_SIZE, start_globals);\n}\n");
        }
        text
    }
}

/// The number of steps that are begun and not ended at each label.
fn find_labels(steps: &[Step], held: usize, out: &mut std::collections::BTreeMap<String, usize>) {
    for step in steps {
        if let Step::Statement(statement) = step {
            in_statement(statement, held, out);
        }
    }
}

fn in_statement(statement: &Stmt, held: usize, out: &mut std::collections::BTreeMap<String, usize>) {
    match &statement.kind {
        StmtKind::Label(label, inner) => {
            out.insert(label.text.to_string(), held);
            in_statement(inner, held, out);
        }
        StmtKind::If(options) | StmtKind::Do(options) => options.iter().for_each(|option| find_labels(option, held, out)),
        StmtKind::Atomic(steps) | StmtKind::DStep(steps) => find_labels(steps, held + 1, out),
        StmtKind::Block(steps) | StmtKind::For { body: steps, .. } => find_labels(steps, held, out),
        _ => {}
    }
}

/// The run time that a program is linked with.
fn runtime(options: &Options) -> impl Iterator<Item = (&'static str, &'static str)> {
    let always = [
        ("everypath.h", include_str!("runtime/everypath.h")),
        ("inside.h", include_str!("runtime/inside.h")),
        ("everypath.c", include_str!("runtime/everypath.c")),
        ("channels.c", include_str!("runtime/channels.c")),
    ];
    let place = match (options.layout, options.transport.broker()) {
        (ProgramLayout::Loop, _) => vec![("loop.c", include_str!("runtime/loop.c"))],
        (_, Some(_)) => vec![("spawn.c", include_str!("runtime/spawn.c")), ("broker.c", include_str!("runtime/broker.c"))],
        _ => vec![("spawn.c", include_str!("runtime/spawn.c")), ("memory.c", include_str!("runtime/memory.c"))],
    };
    always.into_iter().chain(place)
}

fn makefile(name: &str, processes: &[&Proctype], options: &Options, tests: bool) -> String {
    let mut programs: Vec<&str> = match options.layout {
        ProgramLayout::Processes => processes.iter().map(|process| &*process.name.text).collect(),
        ProgramLayout::Loop => Vec::new(),
    };
    programs.push("init");
    let objects: Vec<String> = runtime(options).filter_map(|(name, _)| Some(format!("{}.o", name.strip_suffix(".c")?))).collect();
    let transport = options.transport.broker().map_or(String::new(), |way| format!(" -DEP_TRANSPORT='\"{way}\"'"));
    let mut text = format!(
        "# Generated from {name}; `make` builds everything, `./init` starts it.\n\
         CC ?= cc\n# Numbers overflow as in the model.\nCPPFLAGS += -D_GNU_SOURCE{transport} -fwrapv\nCFLAGS ?= -O2 -Wall -Wextra\nLDLIBS += -lpthread -lrt $(LIBS)\n\
         # Own files of the program, which are linked with all of it.\nOBJECTS += {}\n-include local.mk\n\n\
         all: {}\n\n",
        objects.join(" "),
        programs.join(" ")
    );
    for program in &programs {
        let _ = writeln!(text, "{program}: {program}.o $(OBJECTS)\n\t$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)\n");
    }
    if options.layout == ProgramLayout::Loop {
        let sources: Vec<String> = processes.iter().map(|process| format!("{}.c", process.name.text)).collect();
        let _ = writeln!(text, "init.o: {}\n", sources.join(" "));
    }
    if tests {
        text.push_str("# The pieces of the program, tried with values that satisfy what they require.\ntest: tests\n\t./tests\n\n");
        text.push_str("tests: tests.o $(OBJECTS)\n\t$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)\n\n");
        programs.push("tests");
    }
    let _ = writeln!(
        text,
        "%.o: %.c init.h everypath.h inside.h\n\t$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<\n\nclean:\n\trm -f *.o {}\n\n.PHONY: all clean test",
        programs.join(" ")
    );
    text
}

use super::*;

fn new<'a>(name: &'a str, variables: &'a BTreeMap<String, String>) -> NewExperiment<'a> {
    NewExperiment { name, toml: "name = 'x'", variables, source: "run", snapshot: Some("{}") }
}

fn planned(strategy: &str, repeat: u32) -> PlannedRun {
    PlannedRun { strategy: strategy.into(), repeat, executor: "local".into() }
}

fn whole() -> Finished {
    Finished {
        outcome: Outcome::Hang { phase: Some("loading".into()), why: "idle".into(), stack: vec![], survivors: vec![] },
        started: Some(1000),
        ended: 2000,
        events: vec![Event { at: 5, kind: EventKind::Phase, text: "loading".into() }],
        metrics: vec![MetricValue { name: "speed".into(), value: 4.5, unit: "t/s".into() }],
        output: vec![Output { stream: Stream::Err, at: 5, bytes: vec![0, 255, 10], omitted: 7 }],
        kernel_lines: vec![KernelLine { line: "amdgpu: reset".into(), finding: Some("a reset".into()) }],
    }
}

#[test]
fn a_result_is_stored_once_and_completely() {
    let mut store = Store::in_memory().expect("there is memory");
    let variables = BTreeMap::from([("model".to_owned(), "a.gguf".to_owned())]);
    let id = store.create(&new("x", &variables), &[planned("a", 1), planned("a", 2)]).expect("it is new");
    let run = store.runs(id).expect("there are two")[0].id;
    assert!(!store.finish(run, &whole()).expect("the file is fine"), "it was not begun");
    assert!(store.begin(run, "mark").expect("the file is fine"));
    assert!(!store.begin(run, "other").expect("the file is fine"), "it was begun already");
    store.set_handle(run, "12 34").expect("the file is fine");
    assert!(store.finish(run, &whole()).expect("the file is fine"));
    assert!(!store.finish(run, &Finished::bare(Outcome::Pass)).expect("the file is fine"), "it has a result");
    assert!(!store.replan(run).expect("the file is fine"), "it has a result");
    let row = store.run(run).expect("it exists");
    assert_eq!((row.state, row.outcome), (RunState::Done, Some(whole().outcome)));
    assert_eq!((row.mark.as_str(), row.handle.as_str(), row.attempts), ("mark", "12 34", 1));
    assert_eq!((row.started, row.ended), (Some(1000), Some(2000)));
    assert_eq!(store.events(run).expect("it exists"), whole().events);
    assert_eq!(store.metrics(run).expect("it exists"), whole().metrics);
    assert_eq!(store.output(run).expect("it exists"), whole().output);
    assert_eq!(store.kernel_lines(run).expect("it exists"), whole().kernel_lines);
    assert_eq!(store.events_of_experiment(id).expect("it exists")[&run], whole().events);
    assert_eq!(store.metrics_of_experiment(id).expect("it exists")[&run], whole().metrics);
    assert_eq!(store.kernel_lines_of_experiment(id).expect("it exists")[&run], whole().kernel_lines);
    let row = store.experiment("x").expect("it exists");
    assert_eq!((row.open, row.done, row.variables), (1, 1, variables));
    assert_eq!(store.snapshot(row.snapshot.expect("it has one")).expect("it exists").as_deref(), Some("{}"));
}

#[test]
fn a_requeued_run_is_planned_again() {
    let mut store = Store::in_memory().expect("there is memory");
    let variables = BTreeMap::new();
    let id = store.create(&new("x", &variables), &[planned("a", 1)]).expect("it is new");
    let run = store.runs(id).expect("there is one")[0].id;
    assert!(!store.replan(run).expect("the file is fine"), "it was not begun");
    for attempt in 1..4 {
        assert!(store.begin(run, &format!("mark-{attempt}")).expect("the file is fine"));
        assert!(store.replan(run).expect("the file is fine"));
        assert_eq!(store.run(run).expect("it exists").attempts, attempt);
    }
}

#[test]
fn results_with_an_outcome_can_be_discarded() {
    let mut store = Store::in_memory().expect("there is memory");
    let variables = BTreeMap::new();
    let pending = Finished::bare(Outcome::Pending { changes: vec!["reboot".into()] });
    let results =
        [(planned("a", 1), whole()), (planned("b", 1), pending), (planned("c", 1), Finished::bare(Outcome::Pass))];
    let id = store.import(&new("x", &variables), &results).expect("it is new");
    assert_eq!(store.discard_results(id, &["pending", "blocked"]).expect("the file is fine"), 1);
    let states: Vec<_> = store.runs(id).expect("they exist").iter().map(|run| run.state).collect();
    assert_eq!(states, [RunState::Done, RunState::Planned, RunState::Done]);
    assert_eq!(store.discard_results(id, &["hang"]).expect("the file is fine"), 1);
    let run = store.runs(id).expect("they exist")[0].id;
    assert!(store.events(run).expect("it exists").is_empty(), "nothing of it is left");
}

#[test]
fn an_experiment_has_one_owner() {
    let mut store = Store::in_memory().expect("there is memory");
    let variables = BTreeMap::new();
    let id = store.create(&new("x", &variables), &[]).expect("it is new");
    assert!(store.own(id, None, Some("me")).expect("the file is fine"));
    assert!(!store.own(id, None, Some("you")).expect("the file is fine"));
    assert!(store.own(id, Some("me"), None).expect("the file is fine"));
}

#[test]
fn experiments_are_found_by_number_name_and_age() {
    let mut store = Store::in_memory().expect("there is memory");
    let variables = BTreeMap::new();
    let ids: Vec<i64> =
        ["a", "b", "a"].map(|name| store.create(&new(name, &variables), &[]).expect("it is new")).into();
    let found = |which: &str| store.experiment(which).map(|row| row.id);
    assert_eq!(found("a").ok(), Some(ids[2]));
    assert_eq!(found(&ids[0].to_string()).ok(), Some(ids[0]));
    assert_eq!(found("latest").ok(), Some(ids[2]));
    let error = found("c").expect_err("there is none");
    assert!(matches!(&error, LabError::Unknown { known, .. } if known == &["a", "b"]), "{error:?}");
    assert_eq!(store.experiments().expect("they exist").len(), 3);
}

#[test]
fn other_files_are_rejected_in_one_line() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("lab.db");
    let refusal = || Store::open(&path).err().map(|error| error.to_string()).unwrap_or_default();
    std::fs::write(&path, "this is a letter and no database".repeat(99)).expect("it can be written");
    assert!(refusal().ends_with("it is damaged, or not an SQLite file"), "{}", refusal());
    std::fs::remove_file(&path).expect("it exists");
    let other = Connection::open(&path).expect("it opens");
    other.execute_batch("CREATE TABLE own (a)").expect("it is new");
    assert!(refusal().ends_with("it is another program's"), "{}", refusal());
    other.execute_batch("PRAGMA user_version = 99").expect("it is open");
    assert!(refusal().ends_with("it belongs to another program, or to a newer version of roci"), "{}", refusal());
    assert!(Store::open(folder.path()).is_err());
}

#[test]
fn reading_needs_no_write_permission() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("a b?#%.db");
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .expect("it is ours")
            .map(|entry| entry.expect("it is ours").file_name())
            .collect();
        names.sort();
        names
    };
    {
        let mut store = Store::open(&path).expect("it is new");
        store.create(&new("x", &BTreeMap::new()), &[planned("a", 1)]).expect("it is new");
        let mut reader = Store::read(&path).expect("while another writes");
        assert_eq!(reader.experiments().expect("readable").len(), 1);
        assert!(reader.create(&new("y", &BTreeMap::new()), &[]).is_err(), "a reader writes nothing");
    }
    assert_eq!(names(), ["a b?#%.db"], "SQLite's additional files are gone");
    let before = std::fs::read(&path).expect("it exists");
    let cannot = Connection::open("/nowhere/x.db").expect_err("no folder");
    assert!(cannot_write(&cannot));
    let store = Store::read_unchanging(&path, &cannot).expect("readable");
    assert_eq!(store.experiment("x").expect("it exists").open, 1);
    assert_eq!(names(), ["a b?#%.db"], "no other file was created");
    drop(store);
    assert_eq!(std::fs::read(&path).expect("it exists"), before);
    std::fs::write(folder.path().join("a b?#%.db-wal"), "newer").expect("it is ours");
    let error = Store::read_unchanging(&path, &cannot).expect_err("what is newer must not be passed over");
    assert!(error.to_string().contains("its newest results are in"), "{error}");
}

#[test]
fn a_version_1_file_is_readable_and_migrates_on_write() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("old.db");
    let version = |path: &Path| -> i64 {
        let connection = Connection::open(path).expect("it exists");
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).expect("it has one")
    };
    {
        let mut store = Store::open(&path).expect("it is new");
        store.create(&new("x", &BTreeMap::new()), &[planned("a", 1)]).expect("it is new");
        store.connection.execute_batch("DROP TABLE confirmed; PRAGMA user_version = 1").expect("it is ours");
    }
    assert_eq!(Store::read(&path).expect("readable").experiments().expect("readable").len(), 1);
    assert_eq!(version(&path), 1);
    drop(Store::open(&path).expect("it is brought up"));
    assert_eq!(version(&path), 2);
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").expect("it is ours");
    assert!(Store::read(&empty).expect("readable").experiments().expect("readable").is_empty());
    std::fs::write(&empty, "no database".repeat(99)).expect("it is ours");
    assert!(Store::read(&empty).is_err());
    let error = Store::read(folder.path()).expect_err("a folder");
    assert!(error.to_string().ends_with("it is a folder"), "{error}");
    assert!(roci_base::Hint::hint(&error).is_some_and(|hint| hint.ends_with("/lab.db`")));
}

//! A background worker that sends jobs to a service with a limit of its own, and sleeps rather than be refused there.
#![expect(clippy::print_stdout, reason = "it shows what the worker does")]

use std::error::Error;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use tollgate::{Denied, Limiter, Quota, SlidingLog};

struct Job {
    name: &'static str,
    /// What the service counts for it.
    cost: u64,
}

/// Works until nobody can send jobs any more. A job that could never pass is given back as an error.
fn work(jobs: &Receiver<Job>, limiter: &Limiter<SlidingLog>) -> Result<(), Denied> {
    for job in jobs {
        while let Err(denied) = limiter.check_n(job.cost).into_result() {
            // `ok_or`: a job that costs more than the limit has no wait.
            thread::sleep(denied.retry_after().ok_or(denied)?);
        }
        println!("sent {}", job.name);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // The service's rule, "at most 10 units in any 200 ms", is exactly what a sliding log keeps.
    let limiter = SlidingLog::new(Quota::new(10, Duration::from_millis(200))).build()?;
    let (sender, jobs) = mpsc::channel();
    let worker = thread::spawn(move || work(&jobs, &limiter));

    for (name, cost) in [("a report", 6), ("a photo", 3), ("an archive", 10), ("a note", 1)] {
        sender.send(Job { name, cost })?;
    }
    // Without senders the worker stops.
    drop(sender);
    worker.join().expect("the worker does not panic")?;
    Ok(())
}

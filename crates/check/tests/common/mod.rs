//! Models that include files next to them.

use languages::Files;

/// The files in a folder of the models.
pub struct Folder(pub String);

impl Files for Folder {
    fn read(&mut self, wanted: &str, _: &str) -> Result<(String, String), String> {
        let path = testkit::models::root().join(&self.0).join(wanted);
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        Ok((wanted.to_owned(), text))
    }
}

//! The paths in a settings file: a relative one begins at the folder of that file.
//!
//! A service starts in a folder that its supervisor chooses, and `filbert config check` in that of whoever types it. Where the file stands
//! is the only place that both agree upon. Rejected: the current directory, from which the same file names different certificates.

use super::MemberConfig;
use filbert_net::TlsSettings;
use std::path::{Path, PathBuf};

impl MemberConfig {
    /// Lets the relative paths of a settings file begin at `folder`. The default of the data directory is no path of the file.
    ///
    /// # Errors
    /// When the data directory would be in a folder whose name is not UTF-8: a setting is text, and another text would be another folder.
    pub(super) fn begin_paths_at(&mut self, folder: &Path, names_data_directory: bool) -> Result<(), String> {
        let begin = |path: &mut PathBuf| *path = folder.join(&*path);
        for tls in [&mut self.hazelcast.tls, &mut self.postgres.tls, &mut self.http.tls].into_iter().flatten()
        {
            let TlsSettings { cert_pem_path, key_pem_path, client_ca_pem_path } = tls;
            [Some(cert_pem_path), Some(key_pem_path), client_ca_pem_path.as_mut()]
                .into_iter()
                .flatten()
                .for_each(begin);
        }
        self.sql.files.iter_mut().chain(&mut self.sql.write_files).for_each(begin);
        if names_data_directory {
            let directory = folder.join(&self.grid.data_directory);
            self.grid.data_directory = directory.into_os_string().into_string().map_err(|directory| {
                format!(
                    "grid.data_directory: the folder {} is not UTF-8; name one that is, or keep the settings file in one",
                    directory.display()
                )
            })?;
        }
        Ok(())
    }
}

/// Returns the folder of a file.
pub(super) fn folder_of(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    file.parent().map(Path::to_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn relative_paths_begin_at_the_folder_of_the_file() {
        let read = |text: &str| MemberConfig::from_text_of("/etc/filbert/filbert.toml", text).unwrap();
        let config = read(
            "[grid]\ndata_directory = 'data'\n[sql]\nfiles = ['in', '/all']\nwrite_files = ['../out']\n
            [http.tls]\ncert_pem_path = 'c.pem'\nkey_pem_path = '/k.pem'\nclient_ca_pem_path = 'ca.pem'",
        );
        let tls = config.http.tls.unwrap();
        let [cert, key, ca] = [tls.cert_pem_path, tls.key_pem_path, tls.client_ca_pem_path.unwrap()];
        let paths =
            [&cert, &key, &ca, &config.sql.files[0], &config.sql.files[1], &config.sql.write_files[0]];
        assert_eq!(
            paths.map(|path| path.to_str().unwrap()),
            [
                "/etc/filbert/c.pem",
                "/k.pem",
                "/etc/filbert/ca.pem",
                "/etc/filbert/in",
                "/all",
                "/etc/filbert/../out"
            ]
        );
        assert_eq!(config.grid.data_directory, "/etc/filbert/data");
        // What the file does not name is no path of it.
        let config = read("[sql]\nrows = 5");
        assert_eq!(config.grid.data_directory, MemberConfig::default().grid.data_directory);
        assert_eq!(config.sql.files, MemberConfig::default().sql.files);
    }

    /// The bytes that are no text were replaced, and the data went to another folder.
    #[test]
    fn a_data_directory_in_a_folder_that_is_not_utf_8_is_refused() {
        let file = Path::new(OsStr::from_bytes(b"/etc/f\xff/filbert.toml"));
        let read = |directory: &str| {
            MemberConfig::from_text_of(file, &format!("[grid]\ndata_directory = '{directory}'"))
        };
        let problems = read("data").unwrap_err().problems().to_vec();
        assert!(problems[0].starts_with("grid.data_directory: ") && problems.len() == 1, "{problems:?}");
        assert_eq!(read("/data").unwrap().grid.data_directory, "/data");
    }
}

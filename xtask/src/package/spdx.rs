//! The list of what the binary is built from, in the format of SPDX 2.3.

use super::dependencies::Package;

/// Writes the document: Filbert, every package, and that the one is built from the others.
pub(super) fn document(packages: &[Package], version: &str, time: u64) -> String {
    let mut items = vec![item("filbert", version, "Apache-2.0", true)];
    let mut relations = vec![relation("SPDXRef-DOCUMENT", "DESCRIBES", &id("filbert", version))];
    for package in packages.iter().filter(|package| package.name != "filbert") {
        items.push(item(&package.name, &package.version, &package.licence, package.is_ours));
        let to = id(&package.name, &package.version);
        relations.push(relation(&id("filbert", version), "DEPENDS_ON", &to));
    }
    format!(
        "{{\n\"spdxVersion\": \"SPDX-2.3\",\n\"dataLicense\": \"CC0-1.0\",\n\"SPDXID\": \"SPDXRef-DOCUMENT\",\n\
         \"name\": \"filbert-{version}\",\n\"documentNamespace\": \"https://spdx.org/spdxdocs/filbert-{version}-{time}\",\n\
         \"creationInfo\": {{\"created\": {}, \"creators\": [\"Tool: cargo-xtask-package\"]}},\n\
         \"packages\": [\n{}\n],\n\"relationships\": [\n{}\n]\n}}\n",
        quoted(&moment(time)),
        items.join(",\n"),
        relations.join(",\n")
    )
}

fn item(name: &str, version: &str, licence: &str, is_ours: bool) -> String {
    let licence = if licence.is_empty() { "NOASSERTION" } else { licence };
    let reference = format!("pkg:cargo/{name}@{version}");
    let location =
        if is_ours { "NOASSERTION".to_owned() } else { format!("https://crates.io/crates/{name}/{version}") };
    format!(
        "{{\"SPDXID\": {}, \"name\": {}, \"versionInfo\": {}, \"downloadLocation\": {}, \"filesAnalyzed\": false, \
         \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": {}, \"copyrightText\": \"NOASSERTION\", \
         \"externalRefs\": [{{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \
         \"referenceLocator\": {}}}]}}",
        quoted(&id(name, version)),
        quoted(name),
        quoted(version),
        quoted(&location),
        quoted(licence),
        quoted(&reference)
    )
}

fn relation(from: &str, kind: &str, to: &str) -> String {
    let (from, to) = (quoted(from), quoted(to));
    format!("{{\"spdxElementId\": {from}, \"relationshipType\": \"{kind}\", \"relatedSpdxElement\": {to}}}")
}

/// An identifier of SPDX has letters, digits, dots and dashes.
fn id(name: &str, version: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
    format!(
        "SPDXRef-{}-{}",
        name.chars().map(plain).collect::<String>(),
        version.chars().map(plain).collect::<String>()
    )
}

/// A text of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter < ' ' => out += &format!("\\u{:04x}", u32::from(letter)),
            letter => out.push(letter),
        }
    }
    out + "\""
}

/// A moment as SPDX writes it, from seconds since 1970.
fn moment(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March, so that the day of a leap year is their last.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let in_month = in_year - (153 * month + 2) / 5 + 1;
    let (month, year) =
        if month < 10 { (month + 3, era * 400 + year) } else { (month - 9, era * 400 + year + 1) };
    let (hours, minutes, seconds) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{in_month:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        assert_eq!(moment(0), "1970-01-01T00:00:00Z");
        assert_eq!(moment(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(moment(1_767_225_599), "2025-12-31T23:59:59Z");
    }

    #[test]
    fn every_package_is_listed_and_joined_to_the_binary() {
        let package = Package {
            name: "sql_parser".to_owned(),
            version: "1.0.0+b".to_owned(),
            licence: "MIT OR \"odd\"".to_owned(),
            sources: None,
            is_ours: false,
        };
        let text = document(&[package], "0.1.0", 0);
        for part in [
            "\"SPDXID\": \"SPDXRef-sql-parser-1.0.0-b\"",
            "\"licenseDeclared\": \"MIT OR \\\"odd\\\"\"",
            "pkg:cargo/sql_parser@1.0.0+b",
            "\"relationshipType\": \"DEPENDS_ON\", \"relatedSpdxElement\": \"SPDXRef-sql-parser-1.0.0-b\"",
            "\"created\": \"1970-01-01T00:00:00Z\"",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}

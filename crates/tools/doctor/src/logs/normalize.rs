//! Removes what surrounds a log line: quote marks, timestamps of other programs, names of
//! containers and workers. Translates the messages of shells and of the dynamic loader, so that
//! patterns need them in English only. Lines keep their numbers.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;

/// What may precede a line. The prefixes of the kernel, journald and ollama stay, since they tell
/// which program wrote the line.
const PREFIX: &str = r"(?x)^(?:
    \s*(?:>\s?)+                                                       # Markdown quote
  | \s*`{1,3}                                                          # Markdown code
  | \s*[│┃]\s?                                                         # frame
  | [A-Za-z][A-Za-z0-9_.-]{0,40}\s{0,40}\|\s                                   # docker compose: `web-1  | `
  | \[[A-Za-z][A-Za-z0-9_.-]{0,40}\]\s(?:\d{4}-)                               # see below
  | \d{4}[-/]\d\d[-/]\d\d[T\x20]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\s(?:-\s)?
  | \[\d{4}-\d\d-\d\d\s\d\d:\d\d:\d\d(?:\.\d+)?\]                      # LM Studio
  | \[\d{1,2}:\d\d:\d\d(?:\s[AP]M)?\]\s                                # terminal multiplexers
  | \d{1,2}:\d\d:\d\d\s[AP]M\.\d{1,6}std(?:err|out)                    # LocalAI
  | \[(?i:info|debug|warn|warning)\]\s?                                # lemonade, LM Studio
  | \((?:Process|Server|Router|LlamaCpp|ModelManager|main)\)\s         # lemonade
  | \([A-Za-z0-9_][^()]{0,60}(?-u:\b)pid=\d+[^()]{0,20}\)\s?                           # vLLM: `(EngineCore pid=165) `
  | (?:ERROR|INFO|WARNING|DEBUG)\s\d\d-\d\d\s\d\d:\d\d:\d\d(?:\.\d+)?\s\[[^\]]{1,80}\]\s?
  | \d+\.\d\d\.\d{3}\.\d{3}\s[IWED]\s                                  # llama.cpp
  | E\s{3,}                                                            # pytest
)";

/// Messages of shells and of the C library in other languages.
#[rustfmt::skip]
const TRANSLATIONS: &[(&str, &[&str])] = &[
    ("Segmentation fault", &[
        "Speicherzugriffsfehler", "Erreur de segmentation", "Violación de segmento", "Fallo de segmentación",
        "Errore di segmentazione", "Falha de segmentação", "Segmentatiefout", "Segmenteringsfel",
        "Ошибка сегментирования", "Помилка сегментування", "Naruszenie ochrony pamięci",
        "Neoprávněný přístup do paměti", "段错误", "段錯誤", "区段错误", "程式記憶體區段錯誤", "セグメンテーション違反",
        "세그멘테이션 오류", "세그멘테이션 결함", "Parçalama arızası", "Bölümleme hatası",
    ]),
    ("Killed", &["Getötet", "Processus arrêté", "Tué", "Убито", "Вбито", "Unicestwiony", "Zabit", "已杀死", "已砍掉", "強制終了", "죽었음", "Süreç durduruldu"]),
    ("Aborted", &["Abgebrochen", "Аварийный останов", "Аварийное завершение", "已放弃", "已中止", "アボートしました", "中止 (", "Przerwane", "Abortado", "Annullato", "İptal edildi"]),
    ("command not found", &[
        "Befehl nicht gefunden", "Kommando nicht gefunden", "commande introuvable", "orden no encontrada",
        "no se encontró la orden", "comando non trovato", "comando não encontrado", "команда не найдена",
        "команду не знайдено", "nie znaleziono polecenia", "příkaz nenalezen", "opdracht niet gevonden",
        "未找到命令", "找不到命令", "コマンドが見つかりません", "명령어를 찾을 수 없음", "komut bulunamadı",
    ]),
    ("cannot open shared object file", &[
        "Kann die Shared-Object-Datei nicht öffnen", "ne peut ouvrir le fichier d'objet partagé",
        "Ne peut ouvrir le fichier d'objet partagé", "ne peut ouvrir le fichier objet partagé",
        "no se puede abrir el archivo del objeto compartido", "no se puede abrir el fichero del objeto compartido",
        "impossibile aprire il file oggetto condiviso", "não foi possível abrir arquivo de objetos compartilhados",
        "не удалось открыть общий объектный файл", "невозможно открыть разделяемый объектный файл",
        "не удаётся открыть разделяемый объектный файл", "nie można otworzyć pliku obiektu współdzielonego",
        "无法打开共享对象文件", "无法打开共享目标文件", "共有オブジェクトファイルを開けません",
        "共有オブジェクトファイルを開くことができません", "공유 오브젝트 파일을 열 수 없음",
    ]),
    ("error while loading shared libraries", &[
        "Fehler beim Laden der gemeinsam benutzten Bibliotheken", "Fehler beim Laden gemeinsam genutzter Bibliotheken",
        "erreur lors du chargement des bibliothèques partagées", "error al cargar las bibliotecas compartidas",
        "ошибка при загрузке общих библиотек", "ошибка при загрузке разделяемых библиотек",
    ]),
    ("No such file or directory", &[
        "Datei oder Verzeichnis nicht gefunden", "Aucun fichier ou dossier de ce nom", "Aucun fichier ou dossier de ce type",
        "No existe el archivo o el directorio", "No existe el fichero o el directorio", "File o directory non esistente",
        "Arquivo ou diretório não encontrado", "Arquivo ou diretório inexistente", "Нет такого файла или каталога",
        "Немає такого файла або каталогу", "Nie ma takiego pliku ani katalogu", "Adresář nebo soubor neexistuje",
        "没有那个文件或目录", "沒有此一檔案或目錄", "そのようなファイルやディレクトリはありません",
        "그런 파일이나 디렉터리가 없습니다", "Böyle bir dosya ya da dizin yok", "Bestand of map bestaat niet",
    ]),
    ("Permission denied", &[
        "Keine Berechtigung", "Permission non accordée", "Permiso denegado", "Permesso negato", "Permissão negada",
        "Отказано в доступе", "Відмовлено у доступі", "Brak dostępu", "Brak uprawnień", "Operace zamítnuta",
        "权限不够", "拒絕不符權限的操作", "許可がありません", "허가 거부", "Erişim engellendi", "Toegang geweigerd",
    ]),
    ("The specified module could not be found", &[
        "Das angegebene Modul wurde nicht gefunden", "Le module spécifié est introuvable",
        "No se puede encontrar el módulo especificado", "No se encontró el módulo especificado",
        "Impossibile trovare il modulo specificato", "Não foi possível encontrar o módulo especificado",
        "Не найден указанный модуль", "Nie można odnaleźć określonego modułu", "找不到指定的模块", "找不到指定的模組",
        "指定されたモジュールが見つかりません", "지정된 모듈을 찾을 수 없습니다",
    ]),
];

static PREFIXES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(PREFIX).ok());
static PHRASES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let phrases = TRANSLATIONS.iter().flat_map(|(_, phrases)| phrases.iter());
    let builder = &mut AhoCorasick::builder();
    builder.match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::DFA)).build(phrases).ok()
});
static ENGLISH: LazyLock<Vec<&str>> =
    LazyLock::new(|| TRANSLATIONS.iter().flat_map(|(english, phrases)| phrases.iter().map(|_| *english)).collect());

/// The log without what surrounds its lines, in English.
pub(crate) fn normalize(log: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    // Most logs are in English.
    let phrases = PHRASES.as_ref().filter(|phrases| phrases.is_match(log));
    // Up to here the original has been copied.
    let mut copied = 0;
    let mut start = 0;
    for line in log.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let plain = plain(content, phrases);
        if let Cow::Borrowed(same) = plain
            && same.len() == content.len()
        {
        } else {
            let out = out.get_or_insert_with(|| String::with_capacity(log.len()));
            out.push_str(&log[copied..start]);
            out.push_str(&plain);
            copied = start + content.len();
        }
        start += line.len();
    }
    match out {
        None => Cow::Borrowed(log),
        Some(mut out) => {
            out.push_str(&log[copied..]);
            Cow::Owned(out)
        }
    }
}

/// A line without prefixes, in English.
fn plain<'t>(line: &'t str, phrases: Option<&AhoCorasick>) -> Cow<'t, str> {
    let mut rest = line;
    // Prefixes nest: docker compose, then vLLM's worker, then its level.
    for _ in 0..6 {
        let Some(prefix) = PREFIXES.as_ref().filter(|_| may_have_prefix(rest)).and_then(|regex| regex.find(rest))
        else {
            break;
        };
        // The year after `[container] ` belongs to the next prefix.
        let end = if prefix.as_str().starts_with('[') && prefix.as_str().ends_with('-') {
            prefix.end() - 5
        } else {
            prefix.end()
        };
        rest = &rest[end..];
    }
    if rest.len() != line.len() || rest.ends_with('`') {
        rest = rest.trim_end_matches('`');
    }
    let Some(phrases) = phrases else {
        return Cow::Borrowed(rest);
    };
    let mut out = String::new();
    let mut copied = 0;
    for hit in phrases.find_iter(rest) {
        out.push_str(&rest[copied..hit.start()]);
        out.push_str(ENGLISH[hit.pattern().as_usize()]);
        copied = hit.end();
    }
    if copied == 0 {
        return Cow::Borrowed(rest);
    }
    out.push_str(&rest[copied..]);
    Cow::Owned(out)
}

/// A cheap test, since most lines have no prefix.
fn may_have_prefix(line: &str) -> bool {
    let bytes = line.trim_start().as_bytes();
    match bytes.first() {
        None => false,
        Some(b'>' | b'`' | b'(' | b'[' | b'E' | b'I' | b'W' | b'D' | b'0'..=b'9' | 0xe2) => true,
        Some(byte) => byte.is_ascii_alphabetic() && bytes[..bytes.len().min(82)].contains(&b'|'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_surrounds_a_line_is_removed() {
        for (line, inner) in [
            ("> rocBLAS error: x", "rocBLAS error: x"),
            ("> > Killed", "Killed"),
            ("`Segmentation fault`", "Segmentation fault"),
            ("comfyui-rocm  | HIP error: invalid device function", "HIP error: invalid device function"),
            (
                "vllm-1  | (EngineCore pid=165) ERROR 07-02 07:48:27 [core.py:1202] AssertionError: x",
                "AssertionError: x",
            ),
            ("(APIServer pid=13) RuntimeError: x", "RuntimeError: x"),
            ("2026-06-27 16:29:32.702 [Info] (Process) x y", "x y"),
            ("2025-10-21T21:30:15.461836 - Total VRAM 1 MB", "Total VRAM 1 MB"),
            ("[2026-01-14 11:07:45][DEBUG] load: x", "load: x"),
            ("[ollama-1] 2026-02-07T15:23:47.29694Z time=2026 level=INFO", "time=2026 level=INFO"),
            ("0.00.165.104 E llama_model_load: x", "llama_model_load: x"),
            ("E       RuntimeError: miopenStatusUnknownError", "RuntimeError: miopenStatusUnknownError"),
            ("[7:35:56 PM] maj 08 host kernel: x", "maj 08 host kernel: x"),
        ] {
            assert_eq!(normalize(line), inner);
        }
    }

    #[test]
    fn other_lines_stay() {
        for line in [
            "[   11.4] amdgpu 0000:03:00.0: amdgpu: ready",
            "Nov 20 00:00:00 host kernel: amdgpu: ready",
            "ggml_vulkan: 0 = AMD Radeon (RADV) (radv) | uma: 0 | fp16: 1",
            "| model | size |",
            "time=2026-01-01 level=INFO source=x",
            "  Name:                    gfx1100",
            "",
        ] {
            assert!(matches!(normalize(line), Cow::Borrowed(same) if same == line), "{line}");
        }
        assert_eq!(normalize("a\r\n> b\r\n\nc\n> d"), "a\r\nb\r\n\nc\nd", "lines keep their numbers and ends");
    }

    #[test]
    fn messages_of_shells_are_translated() {
        for (line, english) in [
            ("Speicherzugriffsfehler (Speicherabzug geschrieben)", "Segmentation fault (Speicherabzug geschrieben)"),
            ("bash: rocminfo: команда не найдена", "bash: rocminfo: command not found"),
            ("段错误 (核心已转储)", "Segmentation fault (核心已转储)"),
            (
                "ImportError: libamdhip64.so.6: Kann die Shared-Object-Datei nicht öffnen: Datei oder Verzeichnis nicht gefunden",
                "ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory",
            ),
            (
                "OSError: [WinError 126] No se puede encontrar el módulo especificado.",
                "OSError: [WinError 126] The specified module could not be found.",
            ),
        ] {
            assert_eq!(normalize(line), english);
        }
    }
}

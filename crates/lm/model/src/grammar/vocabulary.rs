//! The vocabulary as a trie of token bytes.

/// The bytes of each token, and a trie of them.
#[derive(Debug, Default)]
pub struct Vocabulary {
    /// Trie nodes in depth-first order.
    nodes: Vec<TrieNode>,
    /// Tokens sorted by their bytes; those of a node are contiguous.
    tokens: Vec<u32>,
    /// The bytes of all tokens, concatenated, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// End-of-generation tokens, sorted.
    stops: Vec<u32>,
}

/// One byte of one or more tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrieNode {
    pub(super) byte: u8,
    /// Number of bytes before this one.
    pub(super) depth: u32,
    /// The first node after its subtree.
    pub(super) end: u32,
    first: u32,
    last: u32,
}

impl Vocabulary {
    /// Takes the bytes of each token, in order of token id, and the end-of-generation tokens.
    ///
    /// Control tokens, such as the start of a message, have no bytes: a grammar never allows them.
    pub fn new<'a>(tokens: impl IntoIterator<Item = &'a [u8]>, stops: impl IntoIterator<Item = u32>) -> Self {
        let mut vocabulary = Self::default();
        for token in tokens {
            vocabulary.bytes.extend_from_slice(token);
            vocabulary.ends.push(vocabulary.bytes.len());
        }
        let mut order: Vec<u32> =
            (0..vocabulary.ends.len() as u32).filter(|&token| !vocabulary.bytes(token).is_empty()).collect();
        order.sort_by(|&a, &b| vocabulary.bytes(a).cmp(vocabulary.bytes(b)));

        let mut nodes: Vec<TrieNode> = Vec::new();
        // The path from the root to the end of the last token.
        let mut path: Vec<usize> = Vec::new();
        let mut before: &[u8] = &[];
        for (place, &token) in order.iter().enumerate() {
            let bytes = vocabulary.bytes(token);
            let shared = before.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            let count = nodes.len() as u32;
            path.drain(shared..).for_each(|node| nodes[node].end = count);
            for (depth, &byte) in bytes.iter().enumerate().skip(shared) {
                path.push(nodes.len());
                let place = place as u32;
                nodes.push(TrieNode { byte, depth: depth as u32, end: 0, first: place, last: place });
            }
            if let Some(&node) = path.last() {
                nodes[node].last = place as u32 + 1;
            }
            before = bytes;
        }
        let count = nodes.len() as u32;
        path.iter().for_each(|&node| nodes[node].end = count);

        let mut stops: Vec<u32> = stops.into_iter().filter(|&token| (token as usize) < vocabulary.ends.len()).collect();
        stops.sort_unstable();
        stops.dedup();
        Self { nodes, tokens: order, stops, ..vocabulary }
    }

    /// Vocabulary size.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of a token; empty for an unknown id.
    pub fn bytes(&self, token: u32) -> &[u8] {
        let token = token as usize;
        let Some(&end) = self.ends.get(token) else { return &[] };
        let start = if token == 0 { 0 } else { self.ends[token - 1] };
        &self.bytes[start..end]
    }

    /// Whether this is an end-of-generation token.
    pub fn is_stop(&self, token: u32) -> bool {
        self.stops.binary_search(&token).is_ok()
    }

    pub(super) fn stops(&self) -> &[u32] {
        &self.stops
    }

    pub(super) fn nodes(&self) -> &[TrieNode] {
        &self.nodes
    }

    /// The tokens that end at a node.
    pub(super) fn tokens(&self, node: &TrieNode) -> &[u32] {
        &self.tokens[node.first as usize..node.last as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_at_the_node_of_its_bytes() {
        let tokens: [&[u8]; 9] = [b"b", b"", b"abc", b"ab", b"abd", b"b", b"\xff", b"a", b"x"];
        let vocabulary = Vocabulary::new(tokens, [1, 99, 1]);
        assert_eq!(vocabulary.len(), 9);
        assert!(vocabulary.is_stop(1) && !vocabulary.is_stop(99));
        assert_eq!(vocabulary.nodes().len(), 7, "a, ab, abc, abd, b, x and an invalid byte");
        let mut path = Vec::new();
        let mut found = Vec::new();
        for node in vocabulary.nodes() {
            path.truncate(node.depth as usize);
            path.push(node.byte);
            for &token in vocabulary.tokens(node) {
                assert_eq!(vocabulary.bytes(token), path, "token {token}");
                found.push(token);
            }
        }
        found.sort_unstable();
        assert_eq!(found, [0, 2, 3, 4, 5, 6, 7, 8]);
        let ends: Vec<u32> = vocabulary.nodes().iter().map(|node| node.end).collect();
        assert_eq!(ends, [4, 4, 3, 4, 5, 6, 7]);
    }
}

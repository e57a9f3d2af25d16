"""``env=webshop``: shop for what an instruction asks for, in a text version of the WebShop site (Yao et al. 2022).

The pages, the search engine and the reward follow the original text environment (princeton-nlp/WebShop, commit 64fa2a5)
without HTML, Java or a tagger; ``docs/webshop_parity.md`` says how closely. One idea per module:

    config      what a user can set                     catalogue   products, prices, index, goals of one data set
    records     one product in the original's format    goals       instructions, price limits, splits
    files       finding and streaming the data files    fuzzy       approximate matching of attributes and options
    store       products and index on disk              nouns       nouns of titles
    tokens      Lucene's English tokens                 reward      what a purchase is worth, and why
    bm25        Lucene's BM25 over numpy arrays         potential   progress of an unfinished episode
    grammar     search[...] and click[...]              session     what an action does to the shopper's session
    pages       what the shopper sees                   observe     what the policy reads
    invent      the catalogue used without data         env         the environment

Nothing is imported here, so that the config can be read without numpy or a search index.
"""

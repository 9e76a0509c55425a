"""Names that other libraries give to the metrics of this one."""

from typing import NamedTuple


class Synonym(NamedTuple):
    """What a metric of another library is called here.

    Attributes
    ----------
    library, theirs
        The library and its name of the metric; K is its cut-off.
    ours
        The same metric here.
    note
        Where the two differ, or the option of the library that makes them agree.
    """

    library: str
    theirs: str
    ours: str
    note: str = ""


_ONE_ITEM = "the same with one relevant item per user"
SYNONYMS = tuple(
    Synonym(*row)
    for row in (
        ("RecBole", "Recall@K", "recall@K"),
        ("RecBole", "Precision@K", "precision@K"),
        ("RecBole", "Hit@K", "hit@K"),
        ("RecBole", "MRR@K", "rr@K"),
        ("RecBole", "MAP@K", "ap@K"),
        ("RecBole", "NDCG@K", "ndcg@K"),
        ("RecBole", "GAUC", "auc"),
        ("RecTools", "Recall(k)", "recall@K"),
        ("RecTools", "Precision(k)", "precision@K"),
        ("RecTools", "HitRate(k)", "hit@K"),
        ("RecTools", "MRR(k)", "rr@K"),
        ("RecTools", "MAP(k)", "ap-by-relevant@K"),
        ("RecTools", "NDCG(k)", "ndcg-by-k@K"),
        ("RecTools", "NDCG(k, divide_by_achievable=True)", "ndcg@K"),
        ("LensKit", "Recall(K)", "recall@K"),
        ("LensKit", "Precision(K)", "precision@K"),
        ("LensKit", "Hit(K)", "hit@K"),
        ("LensKit", "RecipRank(K)", "rr@K"),
        ("LensKit", "NDCG(K)", "ndcg@K", "with discount LogRankWeight(offset=1)"),
        ("implicit", "precision_at_k", "recall@K", _ONE_ITEM),
        ("implicit", "mean_average_precision_at_k", "ap@K"),
        ("implicit", "ndcg_at_k", "ndcg@K"),
        ("implicit", "AUC_at_k", "-", "area within the top K, not auc"),
        ("cornac", "Recall(k)", "recall@K"),
        ("cornac", "Precision(k)", "precision@K"),
        ("cornac", "HitRatio(k)", "hit@K"),
        ("cornac", "NDCG(k)", "ndcg@K"),
        ("cornac", "FMeasure(k)", "f1@K"),
        ("cornac", "MRR", "rr"),
        ("cornac", "MAP", "ap"),
        ("cornac", "AUC", "auc", "with --ties pessimistic"),
        ("ranx", "recall@K", "recall@K"),
        ("ranx", "precision@K", "precision@K"),
        ("ranx", "hit_rate@K", "hit@K"),
        ("ranx", "hits@K", "hit@K", f"a count of hits in ranx; {_ONE_ITEM}"),
        ("ranx", "mrr@K", "rr@K"),
        ("ranx", "map@K", "ap-by-relevant@K"),
        ("ranx", "ndcg@K", "ndcg@K"),
        ("ranx", "ndcg_burges@K", "ndcg-exp@K"),
        ("torchmetrics", "RetrievalRecall(top_k)", "recall@K"),
        ("torchmetrics", "RetrievalPrecision(top_k)", "precision@K"),
        ("torchmetrics", "RetrievalHitRate(top_k)", "hit@K"),
        ("torchmetrics", "RetrievalMRR(top_k)", "rr@K"),
        ("torchmetrics", "RetrievalMAP()", "ap"),
        ("torchmetrics", "RetrievalMAP(top_k)", "ap-by-hits@K"),
        ("torchmetrics", "RetrievalNormalizedDCG(top_k)", "ndcg@K"),
        ("torchmetrics", "RetrievalAUROC()", "auc"),
        ("trec_eval", "recall_K", "recall@K"),
        ("trec_eval", "P_K", "precision@K"),
        ("trec_eval", "success_K", "hit@K"),
        ("trec_eval", "recip_rank", "rr"),
        ("trec_eval", "map", "ap"),
        ("trec_eval", "map_cut_K", "ap-by-relevant@K"),
        ("trec_eval", "ndcg", "ndcg"),
        ("trec_eval", "ndcg_cut_K", "ndcg@K"),
        ("scikit-learn", "ndcg_score(k)", "ndcg@K"),
        ("scikit-learn", "average_precision_score", "ap", "without ties"),
        ("scikit-learn", "roc_auc_score", "auc"),
    )
)

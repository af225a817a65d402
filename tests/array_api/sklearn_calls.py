"""A call of each estimator and metric of scikit-learn that accepts arrays of any library.

A row is a name in sklearn and the call. Names of one letter are the arrays of HOST, made by NumPy or by
pycuda.numpy.
"""

import numpy as np

# Versions of scikit-learn whose estimators and metrics are all below.
KNOWN = {(1, 9)}

_drawn = np.random.default_rng(3)
_class = np.arange(60) % 3
HOST = {
    "X": (_drawn.normal(size=(60, 4)) + _class[:, None] * [1.0, -0.5, 0.25, 0]).astype(np.float64),
    "P": _drawn.gamma(2.0, size=(60, 4)),  # positive
    "y": _class,
    "g": np.roll(_class, 1) * (np.arange(60) % 7 > 1),  # predicted classes
    "b": (np.arange(60) % 2).astype(np.int64),  # two classes
    "h": (np.arange(60) // 2 % 2).astype(np.int64),
    "s": _drawn.uniform(0.01, 0.99, 60),  # scores of two classes
    "r": _drawn.gamma(3.0, size=60),  # a target
    "q": _drawn.gamma(3.0, size=60),  # the predicted target
    "m": (_drawn.random((60, 3)) > 0.5).astype(np.int64),  # indicators of several labels
    "n": (_drawn.random((60, 3)) > 0.4).astype(np.int64),  # predicted indicators
    "k": _drawn.dirichlet([2, 2, 2], 60),  # scores of three classes
}

ESTIMATORS = """
preprocessing.Binarizer Binarizer(threshold=0.2).fit_transform(X)
preprocessing.KernelCenterer KernelCenterer().fit_transform(X @ X.T)
preprocessing.LabelBinarizer LabelBinarizer().fit_transform(y)
preprocessing.LabelEncoder LabelEncoder().fit_transform(y + 3)
preprocessing.MaxAbsScaler MaxAbsScaler().fit_transform(X)
preprocessing.MinMaxScaler MinMaxScaler().fit_transform(X)
preprocessing.Normalizer Normalizer(norm="l2").fit_transform(X)
preprocessing.PolynomialFeatures PolynomialFeatures(2).fit_transform(X)
preprocessing.StandardScaler StandardScaler().fit(X, sample_weight=r).transform(X)
pipeline.FeatureUnion FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())]).fit_transform(X)
pipeline.Pipeline make_pipeline(StandardScaler(), Ridge(solver="svd")).fit(X, r).predict(X)
frozen.FrozenEstimator FrozenEstimator(Ridge(solver="svd").fit(X, r)).predict(X)
naive_bayes.GaussianNB GaussianNB().fit(X, y).predict_proba(X)
discriminant_analysis.LinearDiscriminantAnalysis LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
linear_model.LogisticRegression LogisticRegression(solver="lbfgs").fit(X, y).predict_proba(X)
linear_model.PoissonRegressor PoissonRegressor(solver="lbfgs").fit(X, r).predict(X)
linear_model.Ridge Ridge(solver="svd").fit(X, np.linspace(0, 1, 60)).predict(X)
linear_model.RidgeCV RidgeCV().fit(X, r).predict(X)
linear_model.RidgeClassifier RidgeClassifier(solver="svd").fit(X, y).predict(X)
linear_model.RidgeClassifierCV RidgeClassifierCV().fit(X, y).predict(X)
kernel_approximation.Nystroem Nystroem(kernel="rbf", gamma=0.1, n_components=20, \
random_state=1).fit_transform(X)
decomposition.PCA PCA(2, svd_solver="full").fit_transform(X)
mixture.GaussianMixture GaussianMixture(2, init_params="random", random_state=1).fit(X).score_samples(X)
calibration.CalibratedClassifierCV CalibratedClassifierCV( \
FrozenEstimator(LinearDiscriminantAnalysis().fit(X, y)), method="temperature").fit(X, y).predict_proba(X)
model_selection.GridSearchCV GridSearchCV(Ridge(solver="svd"), {"alpha": [0.1, 1.0]}, \
cv=3).fit(X, r).predict(X)
model_selection.HalvingGridSearchCV HalvingGridSearchCV(Ridge(solver="svd"), {"alpha": [0.1, 1.0]}, \
cv=3).fit(X, r).predict(X)
model_selection.HalvingRandomSearchCV HalvingRandomSearchCV(Ridge(solver="svd"), {"alpha": [0.1, 1.0, 3.0]}, \
cv=3, random_state=1).fit(X, r).predict(X)
model_selection.RandomizedSearchCV RandomizedSearchCV(Ridge(solver="svd"), {"alpha": [0.1, 1.0]}, \
n_iter=2, cv=3, random_state=1).fit(X, r).predict(X)
"""
FUNCTIONS = """
model_selection.cross_val_predict cross_val_predict(Ridge(solver="svd"), X, r, cv=3)
model_selection.train_test_split train_test_split(X, y, random_state=1)
preprocessing.label_binarize label_binarize(y, classes=[0, 1, 2])
utils.extmath.randomized_svd randomized_svd(X, 2, random_state=1)[1]
utils.extmath.randomized_range_finder randomized_range_finder(X, size=2, n_iter=2, random_state=1).shape
"""
CLASSES = """accuracy_score balanced_accuracy_score cohen_kappa_score confusion_matrix hamming_loss
multilabel_confusion_matrix zero_one_loss"""
AVERAGED = "f1_score jaccard_score precision_score recall_score"
TARGETS = """d2_absolute_error_score d2_pinball_score d2_tweedie_score explained_variance_score max_error
mean_absolute_error mean_absolute_percentage_error mean_gamma_deviance mean_pinball_loss
mean_poisson_deviance mean_squared_error mean_squared_log_error mean_tweedie_deviance median_absolute_error
r2_score root_mean_squared_error root_mean_squared_log_error"""
PAIRS = """additive_chi2_kernel chi2_kernel cosine_distances cosine_similarity euclidean_distances
laplacian_kernel linear_kernel manhattan_distances pairwise_distances pairwise_distances_argmin
pairwise_kernels polynomial_kernel rbf_kernel sigmoid_kernel"""
PAIRED = "paired_cosine_distances paired_euclidean_distances paired_manhattan_distances"
SCORES = "average_precision_score det_curve precision_recall_curve roc_curve"
CHANCES = "brier_score_loss d2_brier_score d2_log_loss_score log_loss"
METRICS = {
    **{name: f"{name}(y, g)" for name in CLASSES.split()},
    **{name: f'{name}(y, g, average="macro")' for name in AVERAGED.split()},
    "accuracy_score": "accuracy_score(np.arange(60) % 3, g)",  # a NumPy array and an array of the namespace
    "fbeta_score": 'fbeta_score(m, n, beta=2, average="samples")',
    **{name: f"{name}(r, q)" for name in TARGETS.split()},
    **{name: f"{name}(P, P[:9])" for name in PAIRS.split()},
    **{name: f"{name}(P, P[::-1])" for name in PAIRED.split()},
    **{name: f"{name}(b, s)" for name in SCORES.split()},
    **{name: f"{name}(y, k)" for name in CHANCES.split()},
    **{name: f"{name}(X, y)" for name in ("calinski_harabasz_score", "davies_bouldin_score")},
}
PAIRWISE = {*PAIRS.split(), *PAIRED.split()} - {"euclidean_distances"}


def calls():
    """{name: call} of all estimators, functions and metrics."""
    rows = dict(row.split(" ", 1) for row in (ESTIMATORS + FUNCTIONS).split("\n") if row)
    for name, call in METRICS.items():
        home = "metrics.pairwise" if name in PAIRWISE else "metrics"
        rows[f"{home}.{name}"] = call
    return rows

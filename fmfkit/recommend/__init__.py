"""From a data set to recommendations: settings, training, answers by ids, evaluation, tuning, and the whole recipe."""

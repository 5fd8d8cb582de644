"""Looking at a model: a report as one page of HTML, and the charts and tables that it is made of."""
